//! See `cotan_testkit::fuzz_targets::read_npy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| cotan_testkit::fuzz_targets::read_npy(data));
