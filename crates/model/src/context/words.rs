//! Which words a context may be made of.
//!
//! Names, paths and options of a context end up in device names, in `fstab` and in scripts that root
//! runs. What could mean something to a shell is refused here, so that no later place has to think of it.

use super::Found;

/// Longest name: LVM and md names stop a little above it.
const NAME_MAX: usize = 64;
/// Longest path (`PATH_MAX` is 4096; nobody types one).
const PATH_MAX: usize = 1024;

fn is_word(text: &str, also: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c))
}

/// Whether a name of a volume, array or context will do.
pub(super) fn is_name(text: &str) -> bool {
    // A leading dash is an option to a command, a leading dot a hidden or special file.
    is_word(text, "._-") && text.len() <= NAME_MAX && !text.starts_with(['-', '.'])
}

/// Serial numbers and world-wide names.
pub(super) fn is_serial(text: &str) -> bool {
    is_word(text, "._:-") && text.len() <= 256
}

/// Mount options.
pub(super) fn is_option(text: &str) -> bool {
    is_word(text, "_=.:/@+-") && !text.starts_with('-')
}

/// Words such as schedulers and kinds.
pub(super) fn is_plain(text: &str) -> bool {
    is_word(text, "_-.") && text.len() <= NAME_MAX
}

/// Why a path will not do, if it will not. Paths are judged without their first slash.
pub(super) fn path_fault(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split('/').collect();
    if path.len() > PATH_MAX {
        Some("is longer than a path may be")
    } else if parts.contains(&"..") || parts.contains(&".") {
        Some("has '.' or '..' in it")
    } else if parts.contains(&"") {
        Some("is empty, or has an empty part")
    } else if !is_word(path, "._/@+-") || parts.iter().any(|part| part.starts_with('-')) {
        Some("has letters that a shell, fstab or udev would take apart")
    } else {
        None
    }
}

/// Adds an error unless the name will do.
pub(super) fn check_name(found: &mut Found, place: &str, name: &str) {
    if name.is_empty() {
        found.error(place, "is empty", "give it a name of letters, digits, '.', '_' and '-'");
    } else if !is_name(name) {
        found.error(
            place,
            format!("{} is no name that scripts and device names can carry", quoted(name)),
            format!("use letters, digits, '.', '_' and '-', at most {NAME_MAX}, and begin with none of '-.'"),
        );
    }
}

/// A word as it may be shown: what would upset a terminal is escaped, and it has an end.
pub(super) fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(NAME_MAX).flat_map(char::escape_debug).collect();
    let more = if text.chars().nth(NAME_MAX).is_some() { "..." } else { "" };
    format!("'{shown}{more}'")
}

/// The known word nearest to one that is not known, for "did you mean"; None when none is near.
pub fn nearest_to<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let short: String = word.chars().take(NAME_MAX).collect();
    let mut near: Vec<(usize, &str)> =
        known.into_iter().map(|name| (strsim::damerau_levenshtein(&short, name), name)).collect();
    near.sort();
    // Half of the letters changed is another word.
    near.first().filter(|(edits, name)| *edits * 2 <= name.len().max(1)).map(|(_, name)| *name)
}
