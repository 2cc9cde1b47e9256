//! `/etc/fstab`, as far as it must be understood to add a line to it: fstab(5).

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FstabEntry {
    /// Line number, from 1.
    pub line: usize,
    /// First field, escapes undone.
    pub source: String,
    /// Second field, escapes undone.
    pub mount: String,
    /// Options.
    pub options: String,
}

/// Every entry. Blank lines, comments, and lines with fewer than two fields (which mount(8) passes over
/// as well) are left out; fields may be apart by any blanks, and lines may end as on Windows.
pub fn parse_fstab(text: &str) -> Vec<FstabEntry> {
    let mut found = Vec::new();
    for (at, line) in text.split('\n').enumerate() {
        let line = line.trim_matches([' ', '\t', '\r']);
        if line.starts_with('#') {
            continue;
        }
        let mut fields = line.split([' ', '\t']).filter(|field| !field.is_empty());
        let (Some(source), Some(mount)) = (fields.next(), fields.next()) else { continue };
        found.push(FstabEntry {
            line: at + 1,
            source: unescaped(source),
            mount: plain_path(&unescaped(mount)),
            options: fields.nth(1).unwrap_or_default().to_owned(),
        });
    }
    found
}

/// A path without doubled slashes and without one at its end.
fn plain_path(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    format!("/{}", parts.join("/"))
}

/// Undoes the octal escapes of blanks and backslashes.
fn unescaped(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_owned(), |text, (escape, plain)| text.replace(escape, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_lines() {
        let text = "# comment\n\n\tUUID=1\t\t/data//a/\txfs\tdefaults,noatime\t0 0\r\n\
                    LABEL=x  /mnt/with\\040blank ext4\nswapfile\n/dev/sdb none swap sw 0 0";
        let found = parse_fstab(text);
        let told: Vec<_> =
            found.iter().map(|e| (e.line, e.source.as_str(), e.mount.as_str(), e.options.as_str())).collect();
        assert_eq!(
            told,
            [
                (3, "UUID=1", "/data/a", "defaults,noatime"),
                (4, "LABEL=x", "/mnt/with blank", ""),
                (6, "/dev/sdb", "none", "sw"),
            ]
        );
    }
}
