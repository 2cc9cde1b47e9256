//! The same as shell scripts, for those who do not let a program change their host.
use std::collections::BTreeMap;

use super::builder::Input;

/// Name and text of each script.
pub fn scripts(_input: &Input) -> BTreeMap<String, String> {
    BTreeMap::new()
}
