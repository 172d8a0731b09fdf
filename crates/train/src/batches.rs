//! A data set as minibatches.

use cotan::random::Key;
use cotan::structure::{row_count, take_rows};
use cotan::{Arrays, Error, ErrorKind, Result};

/// A data set, divided into minibatches: any structure of tensors, whose rows are the examples.
///
/// In every epoch each row occurs once; the last batch has the rows that are left, unless
/// [`drop_last`](Batches::drop_last) leaves it out (it costs one more compilation).
///
/// ```
/// use cotan::Tensor;
/// use cotan::random::Key;
/// use cotan_train::Batches;
///
/// let data = (Tensor::from([[1.0], [2.0], [3.0]]), Tensor::from([0, 1, 0]));
/// let batches = Batches::of(data, 2)?.shuffled(Key::new(1));
/// assert_eq!((batches.rows(), batches.per_epoch()), (3, 2));
/// let (x, y) = batches.get(0, 1)?;
/// assert_eq!((x.shape(), y.shape()), (&[1, 1][..], &[1][..]));
/// // The order follows from the key and the number of the epoch, and from nothing else.
/// assert_eq!(batches.get(5, 0)?, batches.get(5, 0)?);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Batches<B> {
    data: B,
    rows: usize,
    size: usize,
    order: Option<Key>,
    drop_last: bool,
}

impl<B: Arrays<Concrete = B>> Batches<B> {
    /// Minibatches of `size` rows, in the order of the data.
    pub fn of(data: B, size: usize) -> Result<Batches<B>> {
        let rows = row_count(&data)?;
        if rows == 0 || size == 0 {
            let message = format!("batches of {size} rows from {rows}");
            return Err(Error::new(ErrorKind::Data, "batches", message)
                .with_hint("a data set has a row, and a batch has one, too"));
        }
        Ok(Batches { data, rows, size, order: None, drop_last: false })
    }

    /// In another order in every epoch.
    pub fn shuffled(mut self, key: Key) -> Self {
        self.order = Some(key);
        self
    }

    /// Without a last batch that is smaller than the others.
    pub fn drop_last(mut self) -> Self {
        self.drop_last = true;
        self
    }

    /// The number of rows of the data.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of rows in a batch.
    pub fn size(&self) -> usize {
        self.size.min(self.rows)
    }

    /// The number of batches in an epoch: at least one.
    pub fn per_epoch(&self) -> usize {
        match self.drop_last {
            true => (self.rows / self.size).max(1),
            false => self.rows.div_ceil(self.size),
        }
    }

    /// The data.
    pub fn data(&self) -> &B {
        &self.data
    }

    /// Batch `n` of an epoch.
    pub fn get(&self, epoch: u64, n: usize) -> Result<B> {
        self.part(&self.order_in(epoch)?, n)
    }

    /// The order of the rows in an epoch.
    pub(crate) fn order_in(&self, epoch: u64) -> Result<Vec<usize>> {
        match self.order {
            Some(key) => {
                let order = key.fold_in(epoch).permutation(self.rows)?;
                Ok(order.iter().map(|row| usize::try_from(row).unwrap_or(0)).collect())
            }
            None => Ok((0..self.rows).collect()),
        }
    }

    /// Batch `n` of an epoch whose order is known.
    pub(crate) fn part(&self, order: &[usize], n: usize) -> Result<B> {
        let rows = order.chunks(self.size).nth(n).filter(|_| n < self.per_epoch());
        let Some(rows) = rows else {
            let message = format!("there is no batch {n} among {}", self.per_epoch());
            return Err(Error::new(ErrorKind::Data, "batches", message));
        };
        take_rows(&self.data, rows)
    }
}
