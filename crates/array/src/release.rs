//! Giving memory back to the system without keeping the caller.
//!
//! The system takes memory back page by page, which for gigabytes takes longer than a run may that
//! was told to stop. So what such a run leaves behind is given back by a thread of its own.
//!
//! Memory on its way back is still in use. What holds all the same: a run that asks for [`MUCH`]
//! [waits](settled) before it does until nothing is on its way, so it finds as much memory in use as
//! if every stopped run had given its own back before it returned. And as only runs that have asked
//! for much leave much behind, what is on its way never exceeds what the runs needed that have gone
//! on at the same time: it does not pile up. A run that asks for less does not wait; what it asks for
//! is at most [`MUCH`] beyond that.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// So many bytes take the system some milliseconds.
pub const MUCH: usize = 64 << 20;

/// How many threads are giving memory back.
static LEAVING: AtomicUsize = AtomicUsize::new(0);

/// How long to sleep between looks at whether memory has been given back.
const NAP: Duration = Duration::from_millis(1);

/// Memory on its way back.
struct Leaving<T> {
    /// Some until it is dropped.
    memory: Option<T>,
}

impl<T> Drop for Leaving<T> {
    fn drop(&mut self) {
        // The memory first: who sees the count go down must find it free.
        self.memory = None;
        LEAVING.fetch_sub(1, Ordering::Release);
    }
}

/// Drops what has so many bytes: on another thread if that is [`MUCH`], and if there can be one.
pub fn release<T: Send + 'static>(memory: T, bytes: usize) {
    if bytes < MUCH {
        return;
    }
    LEAVING.fetch_add(1, Ordering::Relaxed);
    let leaving = Leaving { memory: Some(memory) };
    // Without a thread it is dropped with the closure, here.
    drop(std::thread::Builder::new().name("cotan-release".into()).spawn(move || drop(leaving)));
}

/// Waits, before one asks for so many bytes, until memory on its way back is there, if they are
/// [`MUCH`]; gives `false` when `go_on`, which is asked about every millisecond, does.
pub fn settled(bytes: usize, mut go_on: impl FnMut() -> bool) -> bool {
    if bytes < MUCH {
        return true;
    }
    while LEAVING.load(Ordering::Acquire) > 0 {
        if !go_on() {
            return false;
        }
        std::thread::sleep(NAP);
    }
    true
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Says when it is dropped, and by which thread, and waits to be allowed to.
    struct Slow {
        dropped: Sender<Option<String>>,
        allowed: Receiver<()>,
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.allowed.recv_timeout(Duration::from_secs(20));
            let _ = self.dropped.send(std::thread::current().name().map(str::to_owned));
        }
    }

    fn slow() -> (Slow, Sender<()>, Receiver<Option<String>>) {
        let ((dropped, heard), (allow, allowed)) = (channel(), channel());
        (Slow { dropped, allowed }, allow, heard)
    }

    #[test]
    fn little_is_dropped_at_once() {
        let (memory, allow, heard) = slow();
        allow.send(()).unwrap();
        release(memory, MUCH - 1);
        let by = heard.try_recv().unwrap();
        assert_eq!(by.as_deref(), std::thread::current().name());
    }

    /// Much is dropped by another thread; only who asks for much waits for it, and not against their
    /// will.
    #[test]
    fn much_is_dropped_elsewhere_and_waited_for() {
        let (memory, allow, heard) = slow();
        release(memory, MUCH);
        assert!(heard.try_recv().is_err(), "the caller has waited");
        assert!(settled(MUCH - 1, || panic!("asks for little")));
        let mut asked = 0;
        let patience = || {
            asked += 1;
            asked < 3
        };
        assert!(!settled(MUCH, patience));
        assert_eq!(asked, 3);
        allow.send(()).unwrap();
        assert!(settled(MUCH, || true));
        assert_eq!(heard.try_recv().unwrap().as_deref(), Some("cotan-release"));
    }
}
