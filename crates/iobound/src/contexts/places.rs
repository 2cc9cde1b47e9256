//! Where in a file a place of a context (`array.md0.members`) is.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line, from 1, on which a place stands: its field, else the entry that it would be in.
pub(super) fn line_of(text: &str, place: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let byte = byte_of(document.get_ref(), place)?;
    Some(text[..byte.min(text.len())].bytes().filter(|byte| *byte == b'\n').count() + 1)
}

fn byte_of(document: &DeTable<'_>, place: &str) -> Option<usize> {
    let (kind, rest) = place.split_once('.').unwrap_or((place, ""));
    let (key, value) = document.get_key_value(kind)?;
    match value.get_ref() {
        DeValue::Array(entries) => {
            let entry = entries.iter().find_map(|entry| within(entry, rest))?;
            Some(entry)
        }
        DeValue::Table(table) => Some(field_of(table, rest).unwrap_or(value.span().start)),
        _ => Some(key.span().start),
    }
}

/// The place within one `[[entry]]`, if it is the one that `rest` names first.
fn within(entry: &Spanned<DeValue<'_>>, rest: &str) -> Option<usize> {
    let table = entry.get_ref().as_table()?;
    let text_of = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
    let named = ["name", "mount", "on"].into_iter().filter_map(text_of);
    // Names and mount points may have dots in them.
    let rest =
        named.filter_map(|name| rest.strip_prefix(name)).find(|r| r.is_empty() || r.starts_with('.'))?;
    Some(field_of(table, rest.trim_start_matches('.')).unwrap_or(entry.span().start))
}

fn field_of(table: &DeTable<'_>, path: &str) -> Option<usize> {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let (key, value) = table.get_key_value(name)?;
    let deeper = value.get_ref().as_table().filter(|_| !rest.is_empty());
    Some(deeper.and_then(|table| field_of(table, rest)).unwrap_or(key.span().start))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "schema = 1\nname = \"x\"\n\n[instance.burst]\niops = 3\n[[volume]]\nname = \"a.b\"\nsize = 3\n\
                        [[filesystem]]\non = \"a.b\"\nmount = \"/d.x\"\n[os]\ndirty_ratio = 3\n";

    #[test]
    fn fields_entries_and_tables() {
        for (place, line) in [
            ("name", Some(2)),
            ("instance.burst.iops", Some(5)),
            ("volume.a.b.size", Some(8)),
            ("volume.a.b.kind", Some(6)),
            ("filesystem./d.x.mount", Some(11)),
            ("os.dirty_ratio", Some(13)),
            ("array.md0", None),
        ] {
            assert_eq!(line_of(TEXT, place), line, "{place}");
        }
    }
}
