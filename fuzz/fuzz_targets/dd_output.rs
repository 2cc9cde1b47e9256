#![no_main]

use iobound::tools::dd::fuzz_bodies::dd_output;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| dd_output(data));
