//! Writes the measured function of every benchmark as StableHLO, with its inputs:
//! `cargo run --release -p cotan-bench --example modules FOLDER [--assume-finite] [NAME ..]`.
//!
//! For each benchmark and case there are `NAME.CASE.mlir`, `NAME.CASE.in.npz` with the inputs of the
//! module, and `NAME.CASE.npz` with those that `peers/jax_peer.py` reads. `scripts/xla_bench` runs
//! them beside JAX.

use std::path::Path;

use cotan_array::{Array, npz};
use cotan_bench::Result;
use cotan_bench::function::{Engine, Function};
use cotan_bench::inputs::generate;
use cotan_bench::suite::ALL;
use cotan_stablehlo::{Options, export};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let assume_finite = arguments.iter().any(|a| a == "--assume-finite");
    let mut names = arguments.iter().filter(|a| !a.starts_with("--"));
    let folder = Path::new(names.next().ok_or("name a folder to write to")?);
    let chosen: Vec<&String> = names.collect();
    std::fs::create_dir_all(folder)?;
    for benchmark in ALL {
        if !chosen.is_empty() && !chosen.iter().any(|name| *name == benchmark.name) {
            continue;
        }
        for case in benchmark.cases {
            let stem = format!("{}.{}", benchmark.name, case.name);
            let inputs = generate(benchmark, case)?;
            let function = Function::measured(benchmark, case, &inputs, Engine::Interpreter)?;
            let arrays: Vec<(String, Array)> = function
                .arguments(&inputs)?
                .into_iter()
                .enumerate()
                .map(|(n, array)| (n.to_string(), array))
                .collect();
            let name = benchmark.name.to_owned();
            let options = Options { name, assume_finite, ..Options::default() };
            std::fs::write(
                folder.join(format!("{stem}.mlir")),
                export(&function.program, &options)?,
            )?;
            npz::write_file(folder.join(format!("{stem}.in.npz")), &arrays)?;
            inputs.write(&folder.join(format!("{stem}.npz")))?;
            let sizes: Vec<String> =
                case.sizes.iter().map(|(name, size)| format!("\"{name}\": {size}")).collect();
            let sizes = format!("{{{}}}", sizes.join(", "));
            std::fs::write(folder.join(format!("{stem}.sizes.json")), sizes)?;
            println!("{stem}");
        }
    }
    Ok(())
}
