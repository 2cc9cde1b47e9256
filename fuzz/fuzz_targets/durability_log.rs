#![no_main]

use iobound::durability::fuzz_bodies::durability_log;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| durability_log(data));
