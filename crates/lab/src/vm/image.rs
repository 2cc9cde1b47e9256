//! The root image and kernel of the virtual machine: made once from Debian's packages, then kept.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::guardian::Guardian;
use crate::tool::{self, quoted};
use crate::{LabError, unique_name};

const RECIPE: &str = include_str!("recipe.sh");
const AGENT: &str = include_str!("agent.pl");
/// Where Debian's packages are when this host's own apt does not say.
const MIRROR_DEFAULT: &str = "http://deb.debian.org/debian";
/// Packages, their tree and the image, while it is built.
const SPACE_NEEDED: u64 = 2 << 30;

/// A built image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The root file system (ext4, raw).
    pub root: PathBuf,
    /// The kernel.
    pub kernel: PathBuf,
}

/// Where images are kept: `$IOBOUND_LAB_CACHE`, `$XDG_CACHE_HOME/iobound/lab` or
/// `~/.cache/iobound/lab`. It is made if need be.
///
/// # Errors
/// When it cannot be made.
pub fn cache_dir() -> Result<PathBuf, LabError> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let dir = from("IOBOUND_LAB_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|dir| dir.join("iobound/lab")))
        .or_else(|| from("HOME").map(|dir| dir.join(".cache/iobound/lab")))
        .ok_or_else(|| LabError::Usage("neither HOME nor IOBOUND_LAB_CACHE is set".into()))?;
    fs::create_dir_all(&dir).map_err(|error| LabError::Failed(format!("{}: {error}", dir.display())))?;
    Ok(dir)
}

/// The image's name: another recipe or agent is another image.
fn key() -> String {
    // FNV-1a, 64 bits: the same in every build of this program.
    let hash = RECIPE.bytes().chain(AGENT.bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("bookworm-{hash:016x}")
}

impl Image {
    /// The image if it is built.
    ///
    /// # Errors
    /// As [`cache_dir`].
    pub fn find() -> Result<Option<Image>, LabError> {
        let image = Image::at(&cache_dir()?.join(key()));
        Ok((image.root.is_file() && image.kernel.is_file()).then_some(image))
    }

    /// The image, built first if need be. Builders wait for each other.
    ///
    /// # Errors
    /// Skip, with the remedy, when it has to be built and this is not root or a program is missing.
    pub fn ensure() -> Result<Image, LabError> {
        if let Some(image) = Image::find()? {
            return Ok(image);
        }
        need_tools()?;
        let cache = cache_dir()?;
        let lock = cache.join("lock");
        let failed = |error| LabError::Failed(format!("{}: {error}", lock.display()));
        let held = File::create(&lock).map_err(failed)?;
        if held.try_lock().is_err() {
            eprintln!("lab image: waiting for another process that builds it");
            held.lock().map_err(failed)?;
        }
        match Image::find()? {
            Some(image) => Ok(image),
            None => build(&cache),
        }
    }

    fn at(dir: &Path) -> Image {
        Image { root: dir.join("root.img"), kernel: dir.join("kernel") }
    }
}

/// Skips with what to install or who to be.
fn need_tools() -> Result<(), LabError> {
    let needed = [
        ("debootstrap", "debootstrap"),
        ("mke2fs", "e2fsprogs"),
        ("unshare", "util-linux"),
        ("chroot", "coreutils"),
    ];
    tool::need_programs(&needed)?;
    if !tool::is_root() {
        return Err(LabError::Skip(
            "the virtual machine's image is not built yet, and building it needs root (debootstrap unpacks \
             packages with their owners and runs them in a chroot): run `sudo iobound lab vm build` with \
             IOBOUND_LAB_CACHE set to a directory of yours, or once as root; running it needs no root"
                .into(),
        ));
    }
    Ok(())
}

/// Builds in a directory beside, and renames it when all is there: half an image is never found.
fn build(cache: &Path) -> Result<Image, LabError> {
    let started = Instant::now();
    let half = cache.join("half-built");
    let failed = |error| LabError::Failed(format!("{}: {error}", half.display()));
    // Of a build that was killed; its mounts went with its namespace.
    if half.exists() {
        fs::remove_dir_all(&half).map_err(failed)?;
    }
    fs::create_dir(&half).map_err(failed)?;
    tool::need_space(&half, SPACE_NEEDED)?;
    let built = run_recipe(&half);
    if let Err(error) = built {
        let _ = fs::remove_dir_all(&half);
        return Err(error);
    }
    let dir = cache.join(key());
    // Something incomplete under this name would have been found by nobody.
    if dir.exists() {
        fs::remove_dir_all(&dir).map_err(failed)?;
    }
    for file in ["root.img", "kernel"] {
        File::open(half.join(file)).and_then(|file| file.sync_all()).map_err(failed)?;
    }
    fs::rename(&half, &dir).map_err(failed)?;
    eprintln!("lab image: built in {:.0} s: {}", started.elapsed().as_secs_f64(), dir.display());
    Ok(Image::at(&dir))
}

/// The recipe runs in namespaces of its own: what it mounts and starts ends with it.
fn run_recipe(half: &Path) -> Result<(), LabError> {
    let put = |name: &str, text: &str| {
        let path = half.join(name);
        fs::write(&path, text)
            .map(|()| path)
            .map_err(|error| LabError::Failed(format!("{}: {error}", half.display())))
    };
    let (recipe, agent, pid) = (put("recipe.sh", RECIPE)?, put("agent.pl", AGENT)?, half.join("build.pid"));
    let mut guardian = Guardian::start()?;
    let mark = unique_name();
    guardian.undo(&tool::kill_line(&pid, &mark))?;
    let script = format!(
        "echo $$ >{} && exec unshare --mount --propagation private --pid --fork --mount-proc --kill-child \
         sh \"$@\" {mark}",
        quoted(&pid)
    );
    let status = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(&recipe)
        .arg(mirror())
        .arg(half)
        .arg(&agent)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        // Ctrl-C ends this process; the guardian ends the build.
        .process_group(0)
        .status()
        .map_err(|error| LabError::Failed(format!("sh: {error}")))?;
    for leftover in [&recipe, &agent, &pid] {
        let _ = fs::remove_file(leftover);
    }
    match status.success() {
        true => Ok(()),
        false => Err(LabError::Failed(format!("the virtual machine's image could not be built: {status}"))),
    }
}

/// The Debian mirror that this host's apt uses.
fn mirror() -> String {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let listed = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    let mut more: Vec<PathBuf> = listed.map(|entry| entry.path()).collect();
    more.sort();
    files.extend(more);
    let known = files.iter().filter(|path| path.extension().is_some_and(|e| e == "list" || e == "sources"));
    known
        .filter_map(|path| mirror_in(&fs::read_to_string(path).ok()?))
        .next()
        .unwrap_or_else(|| MIRROR_DEFAULT.into())
}

/// The first address whose path is that of Debian's main archive, in either format of apt's sources.
fn mirror_in(text: &str) -> Option<String> {
    let active = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    active
        .filter(|line| line.starts_with("deb ") || line.starts_with("URIs:"))
        .flat_map(str::split_whitespace)
        .find(|word| word.contains("://") && word.trim_end_matches('/').ends_with("/debian"))
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_read_from_both_formats() {
        let one_line = "# deb http://old.example/debian bookworm main\n\
                        deb [signed-by=/k] https://packages.example/other stable main\n\
                        deb [arch=amd64] http://mirror.example/debian/ bookworm main\n";
        assert_eq!(mirror_in(one_line).as_deref(), Some("http://mirror.example/debian/"));
        let deb822 =
            "Types: deb\nURIs: http://a.example/debian-security http://a.example/debian\nSuites: x\n";
        assert_eq!(mirror_in(deb822).as_deref(), Some("http://a.example/debian"));
        assert_eq!(mirror_in("Types: deb\nURIs: https://packages.example/node\n"), None);
    }
}
