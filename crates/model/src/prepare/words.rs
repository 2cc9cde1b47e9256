//! Commands as a person would type them.

use iobound_record::Op;

/// Characters that no shell gives a meaning.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_=+,./:@%".contains(c)
}

/// A word that a shell reads as itself.
pub(super) fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('~') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Words as a line that a shell would read as those words.
pub(super) fn joined(argv: &[String]) -> String {
    argv.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// An operation as the command that does the same.
pub fn command_line(op: &Op) -> String {
    match op {
        Op::Run { argv, .. } => joined(argv),
        Op::WriteFile { path, text } => {
            format!("cat >{} <<'EOF'\n{text}EOF", quoted(path))
        }
        Op::Set { path, value, .. } => match path.strip_prefix("/proc/sys/") {
            Some(name) => format!("sysctl -w {}", quoted(&format!("{}={value}", name.replace('/', ".")))),
            None => format!("echo {} >{}", quoted(value), quoted(path)),
        },
        Op::AddLines { path, lines } => {
            format!("cat >>{} <<'EOF'\n{}EOF", quoted(path), lines)
        }
        Op::MakeDirectory { path, owner, mode } => {
            let mut argv = vec!["install".to_owned(), "-d".into(), "-m".into(), format!("{mode:04o}")];
            let (user, group) = owner.split_once(':').unwrap_or((owner.as_str(), ""));
            for (flag, name) in [("-o", user), ("-g", group)] {
                if !name.is_empty() {
                    argv.extend([flag.to_owned(), name.to_owned()]);
                }
            }
            argv.push(path.clone());
            joined(&argv)
        }
        Op::ZeroEnds { member } => {
            format!("wipefs --all {0}   # and zeros over its first and last MiB", quoted(&member.node))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_shell() {
        for (word, shown) in [
            ("/dev/md0", "/dev/md0"),
            ("a b", "'a b'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("~", "'~'"),
            ("a;b", "'a;b'"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
