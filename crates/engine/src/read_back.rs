//! Reading back what a verified job wrote.

use std::os::unix::fs::FileExt;

use iobound_record::Job;

use crate::buffers::Buffers;
use crate::control::Control;
use crate::files::{self, Opened};
use crate::verify::Verifier;

/// Most bytes read at once: neighbouring blocks are read together.
const PIECE: u64 = 1 << 20;

/// Reads every written block from the device and checks it.
pub(crate) fn read_back(files: &[Opened], job: &Job, verifier: &mut Verifier, control: &Control) {
    let bs = job.bs;
    let at_once = (PIECE / bs).max(1);
    let Ok(mut buffers) = Buffers::new(1, (at_once * bs) as usize) else { return };
    for opened in files {
        // A buffered job's data must come from the device, not from the cache it was written to.
        let _ = rustix::fs::fdatasync(&opened.file);
        files::drop_cache(&opened.file);
    }
    let published = control.lane();
    let blocks = verifier.written_blocks();
    let mut next = 0;
    while next < blocks.len() && !control.is_stopped() {
        let (file, offset) = blocks[next];
        let run = blocks[next..]
            .iter()
            .take(at_once as usize)
            .enumerate()
            .take_while(|&(i, &block)| block == (file, offset + i as u64 * bs))
            .count();
        let data = buffers.slice_mut(0, run * bs as usize);
        match files[file as usize].file.read_exact_at(data, offset) {
            Ok(()) => {
                for (i, block) in data.chunks(bs as usize).enumerate() {
                    verifier.check_read(file, offset + i as u64 * bs, block);
                }
            }
            Err(error) => verifier.unreadable(offset, run as u64, &error),
        }
        published.add(run as u64, run as u64 * bs, 0);
        next += run;
    }
}
