//! Runs that are stopped at any moment end as if they had not been.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cotan_train::{End, Goal, last_checkpoint};

use super::*;

/// The folder of a run in a process of its own.
const FOLDER: &str = "COTAN_TRAIN_TEST_FOLDER";
/// How often a run is killed.
const KILLS: u32 = 50;

fn long_run<'a>(folder: &Path) -> Trainer<'a, Params, Points, Adam> {
    trainer()
        .epochs(60)
        .accumulate(3)
        .report_every(7)
        .checkpoints(folder)
        .metrics(folder.join("metrics.csv"))
        .early_stopping("loss", Goal::Smallest, 1000)
        .resume(true)
}

/// The run that the other tests stop: a test of its own in another process.
#[test]
fn in_another_process() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let run = long_run(folder.as_ref()).run(start(), &batches()).unwrap();
    if run.end == End::Interrupted {
        std::process::exit(3);
    }
}

fn begin(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "survival::in_another_process"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn finish(folder: &Path, whole: &Run) {
    assert!(begin(folder).wait().unwrap().success());
    let resumed = long_run(folder).run(start(), &batches()).unwrap();
    assert_eq!(outcome(&resumed), outcome(whole));
    assert_eq!(resumed.best, whole.best);
    let losses = |run: &Run| run.rows.iter().map(|row| row.loss).collect::<Vec<_>>();
    assert_eq!(losses(&resumed), losses(whole));
}

#[test]
fn a_run_survives_being_killed_at_any_moment() {
    let (folder, other) = (folder("killed"), folder("whole"));
    let whole = long_run(&other).run(start(), &batches()).unwrap();
    // How long a process takes that does the whole run.
    let begun = Instant::now();
    assert!(begin(&other).wait().unwrap().success());
    let idle = begun.elapsed();
    let begun = Instant::now();
    let scratch = super::folder("timed");
    assert!(begin(&scratch).wait().unwrap().success());
    let busy = begun.elapsed();
    let moments = Key::new(5).uniform::<f64>([4 * KILLS as usize]).unwrap();
    // From before the first step on; the run goes on a little further each time.
    let longest = idle / 2 + busy.saturating_sub(idle) / 10 + Duration::from_millis(5);
    let mut killed = 0;
    for moment in moments.iter() {
        let mut child = begin(&folder);
        std::thread::sleep(longest.mul_f64(moment));
        child.kill().unwrap();
        if !child.wait().unwrap().success() {
            killed += 1;
        } else {
            // It had finished: there is nothing left to kill, so it begins anew.
            std::fs::remove_dir_all(&folder).unwrap();
        }
        if killed == KILLS {
            break;
        }
    }
    finish(&folder, &whole);
    for folder in [folder, other, scratch] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_checkpoint_after_any_step_goes_on_with_the_same_bits() {
    let (folder, other) = (folder("any"), folder("any-whole"));
    let whole = trainer().epochs(3).checkpoints(&other).run(start(), &batches()).unwrap();
    for steps in 1..whole.steps {
        let first = trainer().steps(steps).report_every(1000).checkpoints(&folder);
        first.run(start(), &batches()).unwrap();
        let rest = trainer().epochs(3).checkpoints(&folder).resume(true);
        assert_eq!(outcome(&rest.run(start(), &batches()).unwrap()), outcome(&whole));
    }
    for folder in [folder, other] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_and_ends() {
    let (folder, other) = (folder("interrupted"), folder("interrupted-whole"));
    let whole = long_run(&other).run(start(), &batches()).unwrap();
    let mut child = begin(&folder);
    // After a checkpoint the run is certainly on its way.
    while last_checkpoint(&folder).unwrap().is_none() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &id]).status().unwrap();
    // On a slow machine it may have finished before.
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(0 | 3)), "{code:?} {sent:?}");
    finish(&folder, &whole);
    for folder in [folder, other] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}
