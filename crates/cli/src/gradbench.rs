//! `cotan gradbench`

use std::io::{self, BufWriter};
use std::thread::available_parallelism;

use cotan_gradbench::{Options, serve};

use crate::args::GradbenchArgs;
use crate::failure::{Failure, Outcome};

/// Answers messages until there are no more.
pub fn gradbench(args: &GradbenchArgs) -> Outcome {
    let threads = match args.multithreaded {
        true => available_parallelism().map_or(1, usize::from),
        false => args.threads,
    };
    let output = BufWriter::new(io::stdout().lock());
    serve(io::stdin().lock(), output, &Options::with_threads(threads)).map_err(Failure::from)
}
