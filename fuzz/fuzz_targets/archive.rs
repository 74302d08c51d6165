#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hearth_fuzz::archive::check(data));
