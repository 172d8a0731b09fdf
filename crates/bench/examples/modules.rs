//! Writes the measured function of every benchmark as StableHLO, with its inputs:
//! `cargo run --release -p cotan-bench --example modules FOLDER [--assume-finite] [NAME ..]`.
//!
//! For each benchmark and case there are `NAME.CASE.mlir`, `NAME.CASE.npz` with the inputs, which the
//! comments of the module and `peers/jax_peer.py` name, and `NAME.CASE.json` with the sizes, the names of
//! the derivatives in order, and whether the value comes before them.
//! `scripts/xla_bench` runs them beside JAX.

use std::path::Path;

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
            let name = benchmark.name.to_owned();
            let options = Options { name, assume_finite, ..Options::default() };
            std::fs::write(
                folder.join(format!("{stem}.mlir")),
                export(&function.program, &options)?,
            )?;
            inputs.write(&folder.join(format!("{stem}.npz")))?;
            let sizes: Vec<String> =
                case.sizes.iter().map(|(name, size)| format!("\"{name}\": {size}")).collect();
            let results: Vec<String> =
                benchmark.results.iter().map(|name| format!("\"{name}\"")).collect();
            let about = format!(
                "{{\"sizes\": {{{}}}, \"value\": {}, \"results\": [{}]}}",
                sizes.join(", "),
                benchmark.measured.gives_value(),
                results.join(", "),
            );
            std::fs::write(folder.join(format!("{stem}.json")), about)?;
            println!("{stem}");
        }
    }
    Ok(())
}
