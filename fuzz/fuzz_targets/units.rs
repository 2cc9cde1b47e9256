#![no_main]

use iobound_jobfile::fuzz_bodies::sizes_and_times;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| sizes_and_times(data));
