//! udev's database: what its rules found out about each device when it appeared.
//!
//! `/run/udev/data/bMAJOR:MINOR` (systemd, src/libsystemd/sd-device/device-private.c): a line a fact,
//! `E:NAME=VALUE` for a property. Values have `\x` escapes where a rule asked for them.

use std::collections::HashMap;

use crate::block;
use crate::system::System;

/// The properties of a device.
#[derive(Default)]
pub(super) struct Properties(HashMap<String, String>);

impl Properties {
    pub fn parse(text: &str) -> Properties {
        let pairs = text.lines().filter_map(|line| line.strip_prefix("E:")?.split_once('='));
        Properties(pairs.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect())
    }

    /// The first of these that is there and not empty.
    pub fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name)).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// The database, by device number; empty where udev does not run.
pub(super) fn database(system: &System, names: &[String]) -> HashMap<String, Properties> {
    if !system.place("/run/udev/data").is_dir() {
        return HashMap::new();
    }
    let entry = |name: &String| {
        let number = block::number_of(system, name)?.to_string();
        let text = system.attribute(format!("/run/udev/data/b{number}"))?;
        Some((number, Properties::parse(&text)))
    };
    names.iter().filter_map(entry).collect()
}
