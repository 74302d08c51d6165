#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hearth_fuzz::json::check(data));
