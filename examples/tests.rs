//! The examples run and find what they look for: each checks its own result.
#![allow(clippy::unwrap_used, clippy::duplicate_mod, reason = "tests")]

macro_rules! examples_run {
    ($($name:ident $file:literal)*) => {$(
        #[path = $file]
        #[allow(dead_code, missing_docs, reason = "an example")]
        mod $name;

        #[test]
        fn $name() {
            self::$name::main().unwrap();
        }
    )*};
}

examples_run! {
    bal "bal.rs"
    characters "characters.rs"
    charges "charges.rs"
    denoise "denoise.rs"
    gaussian_process "gaussian_process.rs"
    heat "heat.rs"
    logistic_hmc "logistic_hmc.rs"
    neural_ode "neural_ode.rs"
    pendulum "pendulum.rs"
}

#[test]
fn problems_that_are_broken_are_refused() {
    for text in [
        "",
        "1 1",
        "1 1 1 0 1 0.0 0.0",
        "1 1 1 0 0 0.0 x",
        "-1 1 1",
        "1e300 1 1",
        "1 1 1 0 0 0 0 1 2",
    ] {
        assert!(bal::read(text).is_err(), "{text}");
    }
}
