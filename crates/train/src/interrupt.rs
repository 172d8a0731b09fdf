//! Ctrl-C as a question that the loop asks.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often Ctrl-C was pressed since the last run began.
static PRESSED: AtomicUsize = AtomicUsize::new(0);
/// How many runs there are: without one, Ctrl-C ends the process at once.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
/// Whether the handler is there; a program may have one of its own, and then keeps it.
static HANDLER: OnceLock<bool> = OnceLock::new();

/// The exit code of a process that Ctrl-C ends, by the convention of shells.
const INTERRUPTED: i32 = 130;

/// From the moment this is made, Ctrl-C asks the run to end. Pressed twice it ends the process, as
/// it does without a run.
pub(crate) struct Interrupt {
    caught: bool,
}

impl Interrupt {
    /// Ctrl-C does what it did before.
    pub(crate) fn ignored() -> Interrupt {
        Interrupt { caught: false }
    }

    pub(crate) fn caught() -> Interrupt {
        let handled = *HANDLER.get_or_init(|| {
            ctrlc::try_set_handler(|| {
                let running = RUNNING.load(Ordering::SeqCst) > 0;
                if PRESSED.fetch_add(1, Ordering::SeqCst) > 0 || !running {
                    std::process::exit(INTERRUPTED);
                }
            })
            .is_ok()
        });
        if !handled {
            return Interrupt::ignored();
        }
        PRESSED.store(0, Ordering::SeqCst);
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Interrupt { caught: true }
    }

    /// Whether it was pressed.
    pub(crate) fn asked(&self) -> bool {
        self.caught && PRESSED.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        if self.caught {
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
