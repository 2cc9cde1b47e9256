//! The contexts that come with the program, compiled in.

/// A context that comes with the program.
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

/// The file of a context under `contexts/`.
macro_rules! shipped {
    ($name:literal) => {
        Shipped { name: $name, text: include_str!(concat!("../../../../contexts/", $name, ".toml")) }
    };
}

/// All of them.
pub const SHIPPED: &[Shipped] = &[
    shipped!("c8gb.2xlarge.33.25.8disk.raid10"),
    shipped!("Standard_DS5_v2.2disk.lvm"),
    shipped!("Standard_DS5_v2.4disk.lvm"),
    shipped!("Standard_DS5_v2.8disk.lvm"),
    shipped!("nvme"),
    shipped!("lab.16disk.raid10"),
    shipped!("lab.4disk.lvm"),
];

/// The one of that name.
pub(super) fn find(name: &str) -> Option<&'static Shipped> {
    SHIPPED.iter().find(|context| context.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_forgotten() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contexts");
        let files = std::fs::read_dir(directory).unwrap().flatten();
        let mut names: Vec<String> = files
            .filter_map(|file| {
                file.file_name().to_str().and_then(|n| n.strip_suffix(".toml")).map(str::to_owned)
            })
            .collect();
        names.retain(|name| find(name).is_none());
        assert!(names.is_empty(), "not compiled in: {names:?}");
    }
}
