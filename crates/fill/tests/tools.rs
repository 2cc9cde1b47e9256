//! The `zstd -1` and `lz4` programs themselves see the asked ratio, piece by piece.

mod observe;

use std::io::Write;
use std::process::{Command, Stdio};

use observe::{PIECE_BYTES, RATIOS, bytes, filler};

/// Pieces a combination: as many processes.
const PIECES: usize = 4;

/// Size of what `command` makes of `input`, or `None` where it is not installed.
fn compressed_bytes(command: &[&str], input: &[u8]) -> Option<usize> {
    let child = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match child {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        child => child.unwrap_or_else(|error| panic!("{command:?}: {error}")),
    };
    // Both write only what fits in a pipe before they have read all: a piece is as long as a pipe.
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {errors}", output.status);
    Some(output.stdout.len())
}

#[test]
fn asked_ratios_hold_for_the_programs() {
    for command in [["zstd", "-1", "-c", "-q"], ["lz4", "-1", "-c", "-q"]] {
        if compressed_bytes(&command, &[0; 16]).is_none() {
            assert!(
                std::env::var_os("CI").is_none(),
                "{} is not installed, and CI skips nothing",
                command[0]
            );
            println!("skipped: {} is not installed (apt-get install {})", command[0], command[0]);
            continue;
        }
        for compress in RATIOS {
            for dedup in [1.0, 3.0] {
                let data = bytes(&filler(compress, dedup, 4096), 9, 7 << 30, PIECES * PIECE_BYTES);
                let after: usize = data
                    .chunks_exact(PIECE_BYTES)
                    .map(|piece| compressed_bytes(&command, piece).unwrap())
                    .sum();
                let found = data.len() as f64 / after as f64;
                println!("{} {} asked {compress}, dedup {dedup}: {found:.4}", command[0], command[1]);
                assert!(
                    (found / compress - 1.0).abs() < 0.02,
                    "{command:?}: asked {compress}, found {found}"
                );
            }
        }
    }
}
