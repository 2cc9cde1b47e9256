#![no_main]

use iobound_host::fuzz_bodies::mdstat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| mdstat(data));
