//! Prints the program of a seed: `cargo run -p cotan-testkit --example show -- 17`.

use cotan_testkit::{Config, Rng, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seed = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 0,
    };
    print!("{}", generate(&Config::default(), &mut Rng::new(seed))?);
    Ok(())
}
