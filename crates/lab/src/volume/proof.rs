//! Proof, before a volume is handed out, that it gives back what was written.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use crate::LabError;

/// `O_DIRECT` of x86-64 and of aarch64: the one flag that differs between them.
const O_DIRECT: i32 = if cfg!(target_arch = "aarch64") { 0o200_000 } else { 0o40_000 };
/// Larger than a page and than a FUSE request's first part.
const PIECE: usize = 128 << 10;
const PIECES_MIN: u64 = 8;
const PIECES_MAX: u64 = 64;
/// Writers at once: what broke before broke only where writes overlap.
const WRITERS: u64 = 8;

/// Bytes that direct I/O takes.
#[repr(align(4096))]
struct Piece([u8; PIECE]);

/// Contents that belong to one place: no two pieces, and no two sectors, are alike.
fn fill(piece: &mut Piece, place: u64) {
    for (i, word) in piece.0.chunks_exact_mut(8).enumerate() {
        let mut value =
            place.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (i as u64).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        value ^= value >> 29;
        word.copy_from_slice(&value.wrapping_mul(0xBF58_476D_1CE4_E5B9).to_le_bytes());
    }
}

/// Writes pieces all over the device, many at a time, and reads them back; about a second at the
/// volume's own limits.
pub fn gives_back_what_was_written(
    device: &Path,
    size_bytes: u64,
    bytes_per_s: Option<u64>,
) -> Result<(), LabError> {
    let failed = |error| LabError::Failed(format!("{}: {error}", device.display()));
    let file = File::options().read(true).write(true).custom_flags(O_DIRECT).open(device).map_err(failed)?;
    let pieces = bytes_per_s.map_or(PIECES_MAX, |rate| rate / PIECE as u64).clamp(PIECES_MIN, PIECES_MAX);
    let step = size_bytes / pieces / PIECE as u64 * PIECE as u64;
    let places: Vec<u64> = (0..pieces).map(|i| i * step).collect();
    on_all(&places, |place| {
        let mut piece = Box::new(Piece([0; PIECE]));
        fill(&mut piece, place);
        file.write_all_at(&piece.0, place).map_err(failed)
    })?;
    file.sync_all().map_err(failed)?;
    on_all(&places, |place| {
        let mut expected = Box::new(Piece([0; PIECE]));
        let mut seen = Box::new(Piece([0; PIECE]));
        fill(&mut expected, place);
        file.read_exact_at(&mut seen.0, place).map_err(failed)?;
        match expected.0 == seen.0 {
            true => Ok(()),
            false => Err(LabError::Failed(format!(
                "{}: what was written at byte {place} came back changed; the volume is not handed out",
                device.display()
            ))),
        }
    })
}

fn on_all(places: &[u64], work: impl Fn(u64) -> Result<(), LabError> + Sync) -> Result<(), LabError> {
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..WRITERS as usize)
            .map(|i| {
                scope.spawn(move || {
                    places.iter().skip(i).step_by(WRITERS as usize).try_for_each(|place| work(*place))
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(LabError::Failed("the proof's thread panicked".into())))
        })
    })
}
