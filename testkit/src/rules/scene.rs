//! What the two sides of a rule are made from: sizes, shapes, arrays and index tables.

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::{Builder, Result, TermId, Type, scalar::Op};

use super::choices::Choices;

/// How large the arrays of an instance get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub rank: usize,
    pub size: usize,
    /// Shapes with more elements are cut.
    pub elements: usize,
}

/// One instance of a rule under construction: chooses sizes, shapes and index tables, and supplies
/// arrays. Everything chosen is enumerated in the exhaustive part of the check.
pub struct Scene {
    pub(super) b: Builder,
    pub(super) choices: Choices,
    pub(super) extent: Extent,
}

impl Scene {
    /// The builder, for terms that both sides share.
    pub fn builder(&mut self) -> &mut Builder {
        &mut self.b
    }

    /// A choice below `bound`.
    pub fn choice(&mut self, bound: usize) -> usize {
        self.choices.choose(bound)
    }

    /// One of `items`, which must not be empty.
    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.choice(items.len())]
    }

    /// The size of an axis, possibly 0.
    pub fn size(&mut self) -> usize {
        self.choice(self.extent.size + 1)
    }

    /// The size of an axis that is not empty.
    pub fn positive_size(&mut self) -> usize {
        1 + self.choice(self.extent.size.max(1))
    }

    /// A shape with any number of axes.
    pub fn shape(&mut self) -> Vec<usize> {
        self.shape_of_rank(0, self.extent.rank)
    }

    /// A shape of at least and at most so many axes, as far as the extent of the check allows.
    pub fn shape_of_rank(&mut self, least: usize, most: usize) -> Vec<usize> {
        let most = most.min(self.extent.rank).max(least);
        let rank = least + self.choice(most - least + 1);
        let mut elements = 1;
        (0..rank)
            .map(|_| {
                let k = self.size();
                let k = if elements * k > self.extent.elements { 1 } else { k };
                elements *= k.max(1);
                k
            })
            .collect()
    }

    /// A permutation of `0 .. n`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..n).collect();
        (0..n).map(|_| left.remove(self.choice(left.len()))).collect()
    }

    /// A float array with arbitrary elements.
    pub fn array(&mut self, dims: &[usize]) -> Result<TermId> {
        self.array_of(Dtype::F64, dims)
    }

    /// An array with arbitrary elements.
    pub fn array_of(&mut self, dtype: Dtype, dims: &[usize]) -> Result<TermId> {
        let name = format!("a{}", self.b.inputs().len());
        let shape = Shape::new("array", dims)?;
        self.b.input(name, Type::new(dtype, shape))
    }

    /// A unary operation: ring operations, one that does not map 0 to 0, and partial ones.
    pub fn unary_op(&mut self) -> Op {
        self.one_of(&[Op::Neg, Op::Exp, Op::Abs, Op::Recip, Op::Cos])
    }

    /// A binary operation.
    pub fn binary_op(&mut self) -> Op {
        self.one_of(&[Op::Add, Op::Mul, Op::Sub, Op::Div, Op::Max, Op::Pow])
    }

    /// An index function from `0 .. domain` to indices of axes of sizes `target`, given by a table:
    /// each component may be any number from -1 (just below) to the size (just beyond).
    pub fn table(&mut self, domain: &[usize], target: &[usize]) -> Result<Table> {
        let entries: usize = domain.iter().product();
        let mut columns = Vec::with_capacity(target.len());
        let mut in_range = true;
        for &k in target {
            let entry = |_| {
                // In range first, so that the smallest counterexamples are the most natural.
                let c = self.choice(k + 2);
                if c < k {
                    c as i64
                } else if c == k {
                    k as i64
                } else {
                    -1
                }
            };
            let column: Vec<i64> = (0..entries).map(entry).collect();
            in_range &= column.iter().all(|&i| i >= 0 && i < k as i64);
            let array = Array::from_vec(Shape::new("table", domain)?, column)?;
            columns.push(self.b.constant(&array)?);
        }
        Ok(Table { columns, in_range })
    }

    /// An index of axes of sizes `target`: a table without parameters.
    pub fn index(&mut self, target: &[usize]) -> Result<Table> {
        self.table(&[], target)
    }
}

/// An index function given by a table of integers.
#[derive(Clone, Debug)]
pub struct Table {
    /// One constant for each component of the index.
    columns: Vec<TermId>,
    in_range: bool,
}

impl Table {
    /// The index at the given parameters, one for each axis of the domain.
    pub fn at(&self, b: &mut Builder, params: &[TermId]) -> Result<Vec<TermId>> {
        self.columns.iter().map(|&column| b.index(column, params)).collect()
    }

    /// Whether all indices are in range.
    pub fn in_range(&self) -> bool {
        self.in_range
    }
}
