//! Hardware contexts as files: shipped ones, a user's, and new ones.

mod places;
mod shipped;
mod tree;
mod wal_links;
mod write;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use iobound_model::context::{Problem, is_usable, nearest_to, validate};
use iobound_record::{Context, Severity};

use crate::exit::Failure;

pub use shipped::{SHIPPED, Shipped};
pub use tree::render;
pub use wal_links::wal_links;
pub use write::{as_toml, renamed};

/// A context is a page of text; what is larger is something else.
const FILE_MAX: u64 = 1 << 20;

/// A context that was read, with the text it came from.
pub struct Loaded {
    /// Name as given, or path.
    pub source: String,
    /// The file's text.
    pub text: String,
    /// What it says.
    pub context: Context,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

impl Loaded {
    /// One line a problem, with its line in the file.
    pub fn said(&self) -> Vec<String> {
        let line = |problem: &Problem| match places::line_of(&self.text, &problem.place) {
            Some(line) => format!("{}:{line}: {}{problem}", self.source, mark(problem)),
            None => format!("{}: {}{problem}", self.source, mark(problem)),
        };
        self.problems.iter().map(line).collect()
    }
}

fn mark(problem: &Problem) -> &'static str {
    if problem.severity == Severity::Error { "" } else { "warning: " }
}

/// The context of that name or path, fit for use.
///
/// # Errors
/// It is not there, cannot be read, or does not hold together: usage, with what to do.
pub fn load(what: &str) -> Result<Context, Failure> {
    let loaded = read(what)?;
    if is_usable(&loaded.problems) {
        return Ok(loaded.context);
    }
    let lines = loaded.said().join("\n  ");
    Err(Failure::usage(format!("the context does not hold together:\n  {lines}")))
}

/// Reads a context by shipped name or by path, whatever is wrong with what it says. A file that exists
/// goes before a shipped name, as with suites and job files.
///
/// # Errors
/// It is not there, cannot be read, or is no context at all.
pub fn read(what: &str) -> Result<Loaded, Failure> {
    let path = Path::new(what);
    // A directory that happens to have the name of a context hides nothing.
    let text = if path.exists() && !(path.is_dir() && shipped::find(what).is_some()) {
        read_text(path)?
    } else {
        shipped::find(what).map(|context| context.text.to_owned()).ok_or_else(|| unknown(what))?
    };
    let context: Context = toml::from_str(&text).map_err(|error| Failure::usage(not_one(what, &error)))?;
    let problems = validate(&context);
    Ok(Loaded { source: what.to_owned(), text, context, problems })
}

fn not_one(what: &str, error: &toml::de::Error) -> String {
    format!("{what} is no context: {}", error.to_string().trim_end())
}

fn unknown(what: &str) -> Failure {
    let names = SHIPPED.iter().map(|context| context.name);
    let near = nearest_to(what, names.clone()).map(|name| format!("; did you mean '{name}'?"));
    let known: Vec<&str> = names.collect();
    let shown: String = what.chars().take(200).flat_map(char::escape_debug).collect();
    Failure::usage(format!(
        "'{shown}' is neither a file nor a context that comes with iobound{}\n  known: {}",
        near.unwrap_or_default(),
        known.join(", ")
    ))
}

/// A text file of a sane size.
fn read_text(path: &Path) -> Result<String, Failure> {
    let name = path.display();
    let failed = |error: std::io::Error| Failure::usage(format!("{name} cannot be read: {error}"));
    let metadata = std::fs::metadata(path).map_err(failed)?;
    // A FIFO would hold us for ever, a device would never end.
    if !metadata.is_file() {
        return Err(Failure::usage(format!("{name} is no regular file; name a context's TOML file")));
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_MAX {
        return Err(Failure::usage(format!("{name} is larger than 1 MiB; a context is a page of TOML")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("{name} is no text: byte {at} is not UTF-8; a context is a page of TOML"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.toml");
        std::fs::write(&path, text).unwrap();
        load(path.to_str().unwrap()).expect_err("it is no context").words
    }

    #[test]
    fn every_shipped_context_is_sound() {
        for shipped in SHIPPED {
            let loaded = read(shipped.name).unwrap_or_else(|failure| panic!("{failure}"));
            assert_eq!(loaded.said(), Vec::<String>::new());
            assert_eq!(loaded.context.name, shipped.name);
            assert!(!loaded.context.description.is_empty());
        }
    }

    #[test]
    fn a_name_that_is_none_lists_those_there_are() {
        let words = load("nvm").expect_err("no such").words;
        assert!(words.contains("did you mean 'nvme'?") && words.contains("known: c8gb.2xlarge"), "{words}");
        assert!(!load("/no/such\u{1b}[2J").expect_err("no such").words.contains('\u{1b}'));
    }

    #[test]
    fn odd_files() {
        assert!(refused(b"\x00\xff\xfe").contains("byte 1 is not UTF-8"));
        assert!(refused(&vec![b'#'; 2 << 20]).contains("larger than 1 MiB"));
        assert!(refused(b"").contains("missing field `schema`"));
        let words = refused(b"schema = 1\nname = \"x\"\n[[volume]\n");
        assert!(words.contains("line 3"), "{words}");
        let words = refused(b"schema = 1\nname = \"x\"\n[[volume]]\nname = \"a\"\nsise = 3\n");
        assert!(words.contains("line 5") && words.contains("sise"), "{words}");
        let words = refused(b"schema = 1\nname = \"x\"\n[[volume]]\nsize = \"3 parsecs\"\n");
        assert!(words.contains("line 4") && words.contains("parsecs"), "{words}");
        let nested = "a=".to_owned() + &"[".repeat(100_000);
        assert!(!refused(nested.as_bytes()).is_empty());
        let dir = tempfile::tempdir().unwrap();
        let words = load(dir.path().to_str().unwrap()).expect_err("a directory").words;
        assert!(words.contains("is no regular file"), "{words}");
        assert!(load("/dev/zero").expect_err("a device").words.contains("is no regular file"));
    }

    #[test]
    fn a_problem_names_its_line() {
        let words = refused(
            b"schema = 1\nname = \"x\"\n[[volume]]\nname = \"d\"\nkind = \"nvme\"\nsize = \"1GiB\"\n\
              [[array]]\nname = \"md0\"\nlevel = \"raid0\"\nchunk = \"64KiB\"\nmembers = [\"d\", \"e\"]\n",
        );
        assert!(words.contains("c.toml:11: array.md0.members: no volume or array is named 'e'"), "{words}");
    }
}
