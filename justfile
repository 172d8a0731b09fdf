# What one runs by hand. `just` lists the recipes.

_default:
    @just --list

# All tests.
test:
    cargo test --workspace

# The random tests on FACTOR times as many cases, from seed SEED on if given.
random FACTOR="10" SEED="":
    COTAN_CASES={{FACTOR}} {{ if SEED == "" { "" } else { "COTAN_SEED=" + SEED } }} cargo test -p cotan-testkit

# The program that the generator makes of a seed.
show SEED="0":
    cargo run -q -p cotan-testkit --example show -- {{SEED}}

# Programs per second of the test kit.
throughput:
    cargo run -p cotan-testkit --example throughput --release

# Fuzzes TARGET (parse, roundtrip or npy) for SECONDS; needs a nightly compiler and cargo-fuzz.
fuzz TARGET SECONDS="60":
    cargo +nightly fuzz run --fuzz-dir fuzz {{TARGET}} -- -max_total_time={{SECONDS}} -max_len=4096
