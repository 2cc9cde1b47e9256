#![no_main]

use iobound_jobfile::fuzz_bodies::jobfile_toml;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| jobfile_toml(data));
