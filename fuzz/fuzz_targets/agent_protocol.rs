#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hearth_fuzz::agent_protocol::check(data));
