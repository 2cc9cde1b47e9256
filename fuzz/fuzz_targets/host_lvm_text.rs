#![no_main]

use iobound_host::fuzz_bodies::lvm_text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| lvm_text(data));
