//! See `cotan_testkit::fuzz_targets::parse`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cotan_testkit::fuzz_targets::parse(data));
