//! `cotan export` and `--engine xla`

use super::session::Session;

const MODEL: &str = "\
def square(x: [n]f64) = x * x
def loss(w: [n]f64, x: [m, n]f64) = sum(build m (i => sum(x[i] * w) ** 2))
def odd(a: [n, n]f64) = eigvalsh(a)
";

fn session() -> Session {
    Session::new().with("m.ct", MODEL)
}

#[test]
fn a_function_as_a_module() {
    session().cotan("export m.ct --fn square --size n=3").gives(
        "module @square {\n  \
           func.func public @main(\n    \
             %arg0: tensor<3xf64> // x\n  \
           ) -> (tensor<3xf64>) {\n    \
             // gives value\n    \
             %1 = stablehlo.multiply %arg0, %arg0 : tensor<3xf64> // m.ct:1:25\n    \
             return %1 : tensor<3xf64>\n  \
           }\n\
         }\n",
    );
}

#[test]
fn gradients_and_files() {
    let session = session();
    session
        .cotan("export m.ct --fn loss --grad --wrt w --size n=30 --size m=40 -o loss.mlir")
        .gives("");
    let module = session.read("loss.mlir");
    assert!(module.contains("// gives value, grad.w"), "{module}");
    assert!(module.contains("stablehlo.dot_general"), "{module}");
    session
        .cotan("export m.ct --fn loss --size n=3 --size m=4 -o nowhere/loss.mlir")
        .fails(3, &["cannot write", "nowhere"]);
}

#[test]
fn shardings() {
    let run = |more: &str| {
        session().cotan(&format!("export m.ct --fn loss --size n=3 --size m=8 {more}"))
    };
    let module = run("--mesh batch=4 --shard x=batch:0").out;
    assert!(module.contains("sdy.mesh @mesh = <[\"batch\"=4]>"), "{module}");
    assert!(module.contains("#sdy.sharding<@mesh, [{\"batch\"}, {}]>"), "{module}");
    run("--shard x=batch:0").fails(2, &["there is no mesh", "--mesh batch=8"]);
    run("--mesh batch=3 --shard x=batch:0").fails(1, &["cannot be cut into 3 parts", "size is 8"]);
    run("--mesh batch=4 --shard y=batch:0").fails(1, &["no input or output `y`", "w, x"]);
    run("--mesh batch=4 --shard x=batch").fails(2, &["write x=batch:0"]);
    run("--mesh batch=-4 --shard x=batch:0").fails(2, &["cannot have -4 devices"]);
}

#[test]
fn what_cannot_be_written() {
    let run = |args: &str| session().cotan(&format!("export m.ct --fn {args}"));
    run("square").fails(1, &["n", "--size n="]);
    run("square --size n=3 --wrt x").fails(2, &["no derivative", "--grad"]);
    run("odd --size n=3").fails(1, &["m.ct:3:", "eigh_values"]);
}

#[test]
fn the_engine_needs_a_python() {
    let run = |args: &[&str], env: &[(&str, &str)]| {
        let all = [&["run", "m.ct", "--fn", "square", "--arg", "x=[1, 2]"], args].concat();
        session().cotan_with(&all, "", env)
    };
    let nowhere = [("COTAN_XLA_PYTHON", "/nowhere/python")];
    run(&["--engine", "xla"], &nowhere).fails(3, &["cannot start", "/nowhere/python"]);
    run(&["--engine", "xla", "--counts"], &nowhere).fails(2, &["leave out --engine"]);
    run(&["--devices", "2"], &[]).fails(2, &["--engine"]);
    run(&["--engine", "xla", "--devices", "3", "--processes", "2"], &nowhere)
        .fails(2, &["2 processes cannot share 3 devices"]);
}

/// Runs where `COTAN_XLA_PYTHON` names a Python with jaxlib.
#[test]
fn one_device_many_devices_and_many_processes_agree() {
    if std::env::var_os("COTAN_XLA_PYTHON").is_none() {
        eprintln!("skipped: COTAN_XLA_PYTHON names no Python with jaxlib (scripts/xla makes one)");
        return;
    }
    let session = session();
    let all = [
        "grad",
        "m.ct",
        "--fn",
        "loss",
        "--arg",
        "w=[1, 2, 3]",
        "--arg",
        "x=[[1, 0, 2], [0, 1, 1], [3, 1, 0], [2, 2, 1]]",
    ];
    let ours = session.cotan_with(&all, "", &[]);
    assert_eq!(ours.code, Some(0), "{}", ours.err);
    for more in [
        &["--engine", "xla"][..],
        &["--engine", "xla", "--devices", "4", "--shard", "x=batch:0"],
        &["--engine", "xla", "--devices", "4", "--processes", "2", "--shard", "x=batch:0"],
    ] {
        session.cotan_with(&[&all[..], more].concat(), "", &[]).gives(&ours.out);
    }
}

/// A worker that dies takes the others with it, says so, and leaves no output.
#[test]
fn a_worker_that_dies() {
    // It is told the runner in one line and what to do in another.
    let python = "#!/bin/sh\nread runner; read request\n\
        case \"$request\" in *'\"process\":1,'*) exit 7;; esac\nexec sleep 60\n";
    let session = session().with("python", python);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = session.path("python");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = path.to_string_lossy().into_owned();
        let args =
            "run m.ct --fn square --arg x=[1,2] --engine xla --devices 2 --processes 2 --out y.npz";
        let args: Vec<&str> = args.split_whitespace().collect();
        session
            .cotan_with(&args, "", &[("COTAN_XLA_PYTHON", &path)])
            .fails(3, &["process 1 of 2 ended without an answer", "no output was written"]);
        assert_eq!(session.files(), ["m.ct", "python"]);
    }
}

/// Whoever is interrupted cannot clean up; what it started does. A module that sleeps stands in for a
/// long run of jax.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_run_leaves_no_folder() {
    let python = std::process::Command::new("python3").arg("--version").output();
    if python.is_err() {
        eprintln!("skipped: there is no python3");
        return;
    }
    for signal in ["INT", "KILL"] {
        let session = session().with("jax.py", "open('begun', 'w'); import time; time.sleep(60)");
        let folder = session.path(".").canonicalize().unwrap();
        let mut cotan = std::process::Command::new(env!("CARGO_BIN_EXE_cotan"))
            .args(["run", "m.ct", "--fn", "square", "--arg", "x=[1, 2]", "--engine", "xla"])
            .current_dir(&folder)
            .env("COTAN_XLA_PYTHON", "python3")
            .env("PYTHONPATH", &folder)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TMPDIR", &folder)
            .spawn()
            .unwrap();
        let soon = |holds: &dyn Fn() -> bool| {
            (0..600).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(50));
                holds()
            })
        };
        assert!(
            soon(&|| session.files().contains(&"begun".to_owned())),
            "the runner did not start"
        );
        let pid = cotan.id().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(sent.unwrap().success());
        assert!(!cotan.wait().unwrap().success());
        let clean = || session.files() == ["begun", "jax.py", "m.ct"];
        assert!(soon(&clean), "after {signal}: {:?}", session.files());
    }
}
