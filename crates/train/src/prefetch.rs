//! Batches made by another thread while a step is taken.

use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use cotan::{Arrays, Result};

use crate::batches::Batches;

/// So many batches wait at most: one is used while the next one is made.
const WAITING: usize = 2;

/// The batches with the given numbers, counted over all epochs, in their order. The thread ends when
/// the receiver is gone.
pub(crate) fn prefetched<'scope, 'env, B>(
    scope: &'scope Scope<'scope, 'env>,
    batches: &'env Batches<B>,
    numbers: Range<u64>,
) -> Receiver<Result<B>>
where
    B: Arrays<Concrete = B> + Send + Sync,
{
    let (sender, receiver) = sync_channel(WAITING);
    scope.spawn(move || send(batches, numbers, &sender));
    receiver
}

fn send<B: Arrays<Concrete = B>>(
    batches: &Batches<B>,
    numbers: Range<u64>,
    sender: &SyncSender<Result<B>>,
) {
    let per_epoch = batches.per_epoch() as u64;
    let mut order = None;
    for number in numbers {
        let (epoch, n) = (number / per_epoch, (number % per_epoch) as usize);
        // One permutation serves a whole epoch.
        let ordered = match order.take() {
            Some((of, rows)) if of == epoch => Ok(rows),
            _ => batches.order_in(epoch),
        };
        let batch = ordered.and_then(|rows| {
            let batch = batches.part(&rows, n);
            order = Some((epoch, rows));
            batch
        });
        let failed = batch.is_err();
        if sender.send(batch).is_err() || failed {
            return;
        }
    }
}
