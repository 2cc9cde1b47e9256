#![no_main]

use iobound_jobfile::fuzz_bodies::jobfile_fio;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| jobfile_fio(data));
