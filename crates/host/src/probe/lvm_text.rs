//! lvm2's text metadata, as vgcfgbackup(8) keeps it in `/etc/lvm/backup/GROUP`.
//!
//! Grammar: lvm2's libdm/libdm-config.c. Layout: lib/format_text/export.c. Counts are in extents;
//! extent and stripe sizes in sectors of 512 bytes.

use std::collections::{BTreeMap, HashMap};

use iobound_record::LvmSegment;

use crate::block::SECTOR_BYTES;

/// A volume group.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Group {
    /// Segments of each logical volume, in order; their devices are nodes, as lvm2 last saw them.
    pub volumes: HashMap<String, Vec<LvmSegment>>,
}

/// Sections within sections are a handful; more is no metadata.
const DEPTH_MAX: usize = 16;

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(i64),
    Text(String),
    List(Vec<Value>),
}

#[derive(Debug, Default)]
struct Section {
    values: HashMap<String, Value>,
    sections: BTreeMap<String, Section>,
}

impl Section {
    fn number(&self, name: &str) -> Option<u64> {
        match self.values.get(name)? {
            Value::Number(value) => u64::try_from(*value).ok(),
            _ => None,
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.values.get(name)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn list(&self, name: &str) -> &[Value] {
        match self.values.get(name) {
            Some(Value::List(list)) => list,
            _ => &[],
        }
    }

    fn section(&self, name: &str) -> Option<&Section> {
        self.sections.get(name)
    }
}

/// The group of that name; None when the text is no metadata of it.
pub(crate) fn parse(text: &str, group: &str) -> Option<Group> {
    let tokens = tokens(text);
    let mut reader = Reader { tokens: &tokens, at: 0 };
    let top = reader.section(0)?;
    let metadata = top.section(group)?;
    let names = Names { extent_bytes: metadata.number("extent_size")?.checked_mul(SECTOR_BYTES)?, metadata };
    let volumes = metadata.section("logical_volumes").map(|all| &all.sections);
    let segments = |(name, volume): (&String, &Section)| (name.clone(), names.segments(volume));
    Some(Group { volumes: volumes.into_iter().flatten().map(segments).collect() })
}

/// Finds physical volumes and other logical volumes by the names that segments have for them.
struct Names<'a> {
    extent_bytes: u64,
    metadata: &'a Section,
}

impl Names<'_> {
    fn segments(&self, volume: &Section) -> Vec<LvmSegment> {
        let mut numbered: Vec<(u64, &Section)> = volume
            .sections
            .iter()
            .filter_map(|(name, section)| Some((name.strip_prefix("segment")?.parse().ok()?, section)))
            .collect();
        numbered.sort_by_key(|(number, _)| *number);
        numbered.into_iter().filter_map(|(_, section)| self.segment(section)).collect()
    }

    fn segment(&self, section: &Section) -> Option<LvmSegment> {
        let kind = section.text("type")?;
        let (stripes, devices) = match kind {
            "striped" => {
                // `"pv0", 0, "pv1", 0`: a name and its first extent in turns.
                let listed = section.list("stripes").iter().step_by(2);
                (section.number("stripe_count").unwrap_or(0), self.devices(listed, 0))
            }
            _ => {
                // `"lv_rmeta_0", "lv_rimage_0"`: metadata and data in turns, and the data counts.
                let images = section.list("raids").iter().skip(1).step_by(2);
                let count = section.number("device_count").or(section.number("mirror_count")).unwrap_or(0);
                (count, self.devices(images, 0))
            }
        };
        // A stripe of one is what lvm2 shows as linear.
        let kind = if kind == "striped" && stripes == 1 { "linear" } else { kind };
        let extents = section.number("extent_count")?;
        Some(LvmSegment {
            kind: kind.to_owned(),
            stripes: u32::try_from(stripes).ok()?,
            stripe_bytes: section.number("stripe_size").unwrap_or(0).saturating_mul(SECTOR_BYTES),
            size_bytes: extents.saturating_mul(self.extent_bytes),
            devices,
        })
    }

    fn devices<'a>(&self, listed: impl Iterator<Item = &'a Value>, depth: usize) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for value in listed {
            let Value::Text(name) = value else { continue };
            for device in self.device(name, depth) {
                if !found.contains(&device) {
                    found.push(device);
                }
            }
        }
        found
    }

    /// A physical volume's node, or those of the volume of that name.
    fn device(&self, name: &str, depth: usize) -> Vec<String> {
        let within = |part: &str| self.metadata.section(part).and_then(|all| all.section(name));
        if let Some(node) = within("physical_volumes").and_then(|pv| pv.text("device")) {
            return vec![node.to_owned()];
        }
        let Some(volume) = within("logical_volumes").filter(|_| depth < DEPTH_MAX) else { return Vec::new() };
        let lists = volume.sections.values().flat_map(|segment| segment.list("stripes").iter().step_by(2));
        self.devices(lists, depth + 1)
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Quoted(String),
    Sign(char),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(&c) = rest.peek() {
        match c {
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            '"' => {
                rest.next();
                found.push(Token::Quoted(quoted(&mut rest)));
            }
            '{' | '}' | '[' | ']' | '=' | ',' => {
                rest.next();
                found.push(Token::Sign(c));
            }
            _ if c.is_whitespace() || c.is_control() => {
                rest.next();
            }
            _ => {
                let mut word = String::new();
                while let Some(c) = rest.next_if(|c| !c.is_whitespace() && !"#\"{}[]=,".contains(*c)) {
                    word.push(c);
                }
                found.push(Token::Word(word));
            }
        }
    }
    found
}

fn quoted(rest: &mut std::iter::Peekable<std::str::Chars>) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next() {
        match c {
            '"' => break,
            '\\' => text.extend(rest.next()),
            _ => text.push(c),
        }
    }
    text
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    /// Everything up to the closing brace, at depth 0 to the end of the text; None for what is no metadata.
    fn section(&mut self, depth: usize) -> Option<Section> {
        let mut section = Section::default();
        loop {
            let name = match self.next() {
                // Half a file, or half of two, is no metadata.
                None => return (depth == 0).then_some(section),
                Some(Token::Sign('}')) => return (depth > 0).then_some(section),
                Some(Token::Word(name) | Token::Quoted(name)) => name,
                Some(Token::Sign(_)) => return None,
            };
            match self.next()? {
                Token::Sign('{') if depth < DEPTH_MAX => {
                    let inner = self.section(depth + 1)?;
                    section.sections.insert(name, inner);
                }
                Token::Sign('=') => {
                    let value = self.value()?;
                    section.values.insert(name, value);
                }
                _ => return None,
            }
        }
    }

    fn value(&mut self) -> Option<Value> {
        match self.next()? {
            Token::Sign('[') => self.list().map(Value::List),
            token => scalar(token),
        }
    }

    /// Lists hold numbers and texts only.
    fn list(&mut self) -> Option<Vec<Value>> {
        let mut list = Vec::new();
        loop {
            match self.next()? {
                Token::Sign(']') => return Some(list),
                Token::Sign(',') => {}
                token => list.push(scalar(token)?),
            }
        }
    }
}

/// Numbers that do not fit, and fractions, are kept as text: none of them is asked for.
fn scalar(token: Token) -> Option<Value> {
    match token {
        Token::Word(word) => Some(word.parse().map(Value::Number).unwrap_or(Value::Text(word))),
        Token::Quoted(text) => Some(Value::Text(text)),
        Token::Sign(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = include_str!("../../tests/texts/lvm-backup.txt");

    #[test]
    fn a_striped_and_a_mirrored_volume() {
        let group = parse(TEXT, "vg-data").unwrap();
        let striped = &group.volumes["lv-data"];
        assert_eq!(striped.len(), 2);
        assert_eq!((striped[0].kind.as_str(), striped[0].stripes), ("striped", 2));
        assert_eq!((striped[0].stripe_bytes, striped[0].size_bytes), (64 << 10, 8 << 30));
        assert_eq!(striped[0].devices, ["/dev/sdc", "/dev/sdd"]);
        assert_eq!((striped[1].kind.as_str(), striped[1].devices.len()), ("linear", 1));
        let raid = &group.volumes["lv-raid"][0];
        assert_eq!((raid.kind.as_str(), raid.stripes, raid.stripe_bytes), ("raid10", 4, 256 << 10));
        assert_eq!(raid.devices, ["/dev/sdc", "/dev/sdd", "/dev/sde", "/dev/sdf"]);
        assert_eq!(parse(TEXT, "other"), None);
    }

    #[test]
    fn what_is_no_metadata() {
        for text in ["", "vg {", "vg-data { = }", "vg-data { extent_size = \"x\" }", "}", "a = [1, {"] {
            assert_eq!(parse(text, "vg-data"), None, "{text}");
        }
        let deep = "a {".repeat(100_000);
        assert_eq!(parse(&deep, "a"), None);
        let turning = "g { extent_size = 8 logical_volumes { a { segment1 { extent_count = 1 type = \"raid1\" \
                       raids = [\"m\", \"a\"] stripes = [\"a\", 0, \"a\", 0] } } } }";
        assert_eq!(parse(turning, "g").unwrap().volumes["a"][0].devices, Vec::<String>::new());
    }
}
