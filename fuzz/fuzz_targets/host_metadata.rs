#![no_main]

use iobound_host::fuzz_bodies::metadata;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| metadata(data));
