//! What the fuzz target does with dd's output: also run by `cargo test` on stable. Panics where the reader
//! is wrong.

use super::parse::parse;

/// Reads the bytes as what dd printed.
pub fn dd_output(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (copied, messages) = parse(&text);
    assert!(messages.iter().all(|message| !message.is_empty() && text.contains(message.as_str())));
    match copied {
        Ok(copied) => {
            assert!(copied.seconds.is_finite() && copied.seconds >= 0.0);
            assert!(text.contains(&copied.bytes.to_string()) || text.contains("0"));
            // Saying it again as dd would reads as the same.
            let again = format!(
                "{}+{} records in\n{}+{} records out\n{} bytes copied, {} s, 1 kB/s\n",
                copied.whole_in,
                copied.part_in,
                copied.whole_out,
                copied.part_out,
                copied.bytes,
                copied.seconds
            );
            assert_eq!(parse(&again).0, Ok(copied));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    #[test]
    fn every_seed_and_every_cut_of_it() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/dd_output");
        let entries =
            std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
        let seeds: Vec<_> = entries.map(|entry| std::fs::read(entry.unwrap().path()).unwrap()).collect();
        assert!(seeds.len() >= 3, "{} has no seeds", directory.display());
        for seed in seeds {
            (0..=seed.len()).for_each(|end| dd_output(&seed[..end]));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes(data in prop::collection::vec(any::<u8>(), 0..400)) {
            dd_output(&data);
        }

        #[test]
        fn lines_that_look_like_dds(lines in prop::collection::vec(
            "([0-9]{0,22}[+][0-9]{0,3} records (in|out)|[0-9-]{0,21} bytes?( \\([^)]{0,9}\\))? copied, [0-9.e+-]{0,9} s, x|[ -~]{0,20})[\n\r]",
            0..8,
        )) {
            dd_output(lines.concat().as_bytes());
        }
    }
}
