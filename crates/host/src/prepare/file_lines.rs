//! Lines of ours in a file that is not ours; every other byte of it stays as it is.

/// Bytes to add to the end of a file so that `lines` begin on a line of their own.
pub(super) fn addition(before: &[u8], lines: &str) -> String {
    let open = before.last().is_some_and(|last| *last != b'\n');
    if open { format!("\n{lines}") } else { lines.to_owned() }
}

/// What became of lines that were added.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// They are there: the file without them.
    There(Vec<u8>),
    /// Nothing of them is left.
    Gone,
    /// A part of them is there, or they are there twice.
    Edited,
}

/// Looks for what was added.
pub(super) fn without(text: &[u8], added: &str) -> Found {
    let whole = added.as_bytes();
    let bare = whole.strip_prefix(b"\n").unwrap_or(whole);
    match (places(text, whole).as_slice(), places(text, bare).as_slice()) {
        // At the end it takes the line end along that it brought; in the middle, somebody needs it.
        ([at], [_]) => cut(text, *at, whole.len()),
        (_, [at]) => cut(text, *at, bare.len()),
        (_, []) => {
            let ours = added.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            let key = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
            let hint: Vec<String> = ours.map(key).filter(|key| key.contains('=')).collect();
            let is_left = hint.iter().any(|key| !places(text, key.as_bytes()).is_empty());
            let comment = added.lines().find(|line| line.starts_with('#')).unwrap_or_default();
            let has_comment = !comment.is_empty() && !places(text, comment.as_bytes()).is_empty();
            if is_left || has_comment { Found::Edited } else { Found::Gone }
        }
        _ => Found::Edited,
    }
}

fn cut(text: &[u8], at: usize, length: usize) -> Found {
    let mut left = text[..at].to_vec();
    left.extend_from_slice(&text[at + length..]);
    Found::There(left)
}

/// Where `part` begins in `text`, on a line of its own.
fn places(text: &[u8], part: &[u8]) -> Vec<usize> {
    if part.is_empty() || part.len() > text.len() {
        return Vec::new();
    }
    let fits = |at: &usize| text[*at..].starts_with(part);
    (0..=text.len() - part.len()).filter(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "# iobound prepare: data\nUUID=ab /data xfs noatime 0 0\n";

    #[test]
    fn every_other_byte_stays() {
        for before in
            ["", "x\n", "x", "UUID=1\t/\text4\tdefaults 0 1\r\n# no newline at the end", "\n\n", "\u{fffd}\t"]
        {
            let added = addition(before.as_bytes(), LINES);
            let after = format!("{before}{added}");
            assert_eq!(without(after.as_bytes(), &added), Found::There(before.into()), "{before:?}");
            // Somebody adds a line of theirs behind it.
            let more = format!("{after}theirs\n");
            let Found::There(left) = without(more.as_bytes(), &added) else { panic!("{before:?}") };
            assert!(left.ends_with(b"theirs\n"));
            assert_eq!(without(before.as_bytes(), &added), Found::Gone);
        }
    }

    #[test]
    fn edited_lines_are_not_ours_any_more() {
        let edited = LINES.replace("noatime", "noatime,discard");
        assert_eq!(without(edited.as_bytes(), LINES), Found::Edited);
        assert_eq!(without(format!("{LINES}{LINES}").as_bytes(), LINES), Found::Edited);
        assert_eq!(without(b"# iobound prepare: data\n", LINES), Found::Edited);
    }
}
