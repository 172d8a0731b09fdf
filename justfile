# Tasks for developers; `just` lists them. `.ci/run` is what a change has to pass.

_list:
    @just --list --unsorted

# Everything a change has to pass
check:
    bash .ci/run

# All tests
test *args:
    cargo test --workspace --all-features {{args}}

# Random tests with `times` times as many cases, from a seed of your choice
random times="100" seed="1":
    COTAN_CASES={{times}} COTAN_SEED={{seed}} cargo test --workspace --release

# Random tests of all crates for hours, each time from fresh seeds; options as of `cotan-soak --help`
soak *args:
    cargo run --release --quiet -p cotan-soak -- {{args}}

# Deliberate faults in a copy of the sources, which the random tests have to find; `--check` only applies them
faults *args:
    scripts/faults {{args}}

# The tests of everything that runs programs, on every backend; `--quick` as in `.ci/run`
backends *args:
    scripts/backends {{args}}

# Compiles for other processors and systems; `--run` also runs the tests for ARM and Windows
targets *args:
    scripts/targets {{args}}

# Coverage-guided fuzzing of `parse`, `npy`, `roundtrip` or `engines`; needs nightly Rust and cargo-fuzz
fuzz target="parse" seconds="60":
    cargo +nightly fuzz run {{target}} -- -max_total_time={{seconds}}

# The unsafe code on small programs, for minutes; needs nightly Rust with Miri
miri:
    cargo +nightly miri test -p cotan-cpu --test small

# The executor's tests with every access to memory checked; needs nightly Rust
asan *args:
    RUSTFLAGS=-Zsanitizer=address cargo +nightly test --target-dir target/asan \
        --target "$(rustc --print host-tuple)" -p cotan-cpu --lib --tests {{args}}

# The threads of the executor with every race reported; needs nightly Rust with rust-src
tsan *args:
    RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target-dir target/tsan \
        --target "$(rustc --print host-tuple)" -p cotan-cpu --lib --test threads {{args}}

# The tests of the C that is written, with gcc and clang
c *args:
    scripts/c {{args}}

# The benchmark suite as C beside our own machine code, taking turns; `--quick` for a look, `--cc clang`
bench-c *args:
    cargo run --release --quiet -p cotan-bench --example c_speed -- {{args}}

# Accept what snapshots show now, and write generated documents again
bless: rules
    COTAN_BLESS=1 UPDATE_DOCS=1 INSTA_UPDATE=always TRYBUILD=overwrite cargo test --workspace --all-features

# The rules of the bulk-operation transform and of the optimiser, as documents
rules:
    cargo run --quiet -p cotan-cli -- rules --optimiser --markdown > docs/optimiser.md.new
    mv docs/optimiser.md.new docs/optimiser.md
    cargo run --quiet -p cotan-cli -- rules --markdown > docs/rules.md.new
    mv docs/rules.md.new docs/rules.md

# One example through every stage up to bulk operations, and what it gives
tour example="self_convolution":
    cargo run --quiet -p cotan-cli -- explain --example {{example}} --stage source
    cargo run --quiet -p cotan-cli -- explain --example {{example}} --stage core
    cargo run --quiet -p cotan-cli -- explain --example {{example}} --stage bot --trace
    cargo run --quiet -p cotan-cli -- run --example {{example}}

# The benchmarks beside JAX; options as of `scripts/bench --help`
bench *args:
    scripts/bench --peers "$(scripts/peers)" {{args}}

# Sizes of source files
size:
    bash scripts/size

# One layout for Rust and for .ct files
fmt:
    cargo fmt --all
    cargo run --quiet -p cotan-cli -- fmt examples/*.ct examples/gradbench/*.ct crates/bench/programs/*.ct

# The documentation, in a browser
doc:
    cargo doc --workspace --no-deps --open

# The documentation as a site, in a browser; installs mdBook below `target` if it is not there
book *args="--open":
    scripts/book {{args}}

# What a release needs, short of publishing: `just release check`, `just release archives`
release *args:
    scripts/release {{args}}

# Installs the `cotan` command
install:
    cargo install --path crates/cli
