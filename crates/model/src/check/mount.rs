//! What is mounted, and how.

use iobound_record::{Check, FileSystemSpec, MountedFileSystem, Outcome};

use super::row::{Row, node, shell};
use super::scope::{Place, Scope};

pub(super) fn rules(scope: &Scope<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    for place in &scope.places {
        match (place.fs, place.spec) {
            (Some(fs), spec) => {
                checks.extend(spec.map(|spec| kind(fs, spec)));
                checks.extend(options(place, fs));
            }
            (None, Some(spec)) if spec.mount == place.name => checks.push(absent(place, spec)),
            _ => {}
        }
    }
    checks
}

fn absent(place: &Place<'_>, spec: &FileSystemSpec) -> Check {
    Row::new("mount", &place.name)
        .value("nothing is mounted there")
        .expected(format!("{} on {}", spec.kind.name(), spec.on))
        .why("files written there would land on another disk, mostly the system's")
        .mend(format!("sudo mount {}   # or build it: iobound prepare plan", shell(&place.name)))
        .is(Outcome::Fail)
}

fn kind(fs: &MountedFileSystem, spec: &FileSystemSpec) -> Check {
    Row::new("mount", &fs.mount)
        .value(format!("{} on {}", fs.kind, fs.device))
        .expected(spec.kind.name())
        .why("file systems differ in what a synced write costs")
        .mend("make the file system anew from the context (iobound prepare plan), or correct the context")
        .passes_if(fs.kind == spec.kind.name(), Outcome::Warn)
}

/// An option that should not be there.
struct Fault {
    id: &'static str,
    outcome: Outcome,
    expected: &'static str,
    why: &'static str,
    /// Options of `mount -o remount,`; empty where a remount does not change it.
    remount: &'static str,
}

fn fault_of(option: &str, database: bool) -> Option<Fault> {
    let fault = |id, outcome, expected, why, remount| Some(Fault { id, outcome, expected, why, remount });
    match option {
        "ro" => fault(
            "mount-writable",
            Outcome::Fail,
            "rw",
            "nothing can be written; the kernel remounts so after errors too",
            "rw",
        ),
        // mount(8): without barriers a power cut loses what was synced, unless no cache is volatile.
        "nobarrier" | "barrier=0" | "barrier=none" => fault(
            "mount-barriers",
            Outcome::Fail,
            "barriers",
            "a sync does not flush the drive's cache: commits look fast and a power cut loses them",
            "barrier=1",
        ),
        "sync" => fault(
            "mount-sync",
            Outcome::Fail,
            "async",
            "every write waits for the device, synced or not: no figure is what it says",
            "async",
        ),
        "dirsync" => {
            fault("mount-sync", Outcome::Warn, "no dirsync", "each new file waits for the device", "dirsync")
        }
        "strictatime" => fault(
            "mount-atime",
            Outcome::Warn,
            "noatime",
            "each read writes the file's access time",
            "noatime",
        ),
        "data=journal" => fault(
            "mount-journal",
            Outcome::Warn,
            "data=ordered",
            "all data is written twice, first to the journal",
            "",
        ),
        "data=writeback" => fault(
            "mount-journal",
            Outcome::Warn,
            "data=ordered",
            "after a power cut files may hold stale blocks",
            "",
        ),
        "discard" if database => fault(
            "mount-discard",
            Outcome::Warn,
            "no discard; fstrim.timer",
            "each deleted file sends discards between the I/O of the others",
            "nodiscard",
        ),
        _ => None,
    }
}

fn options(place: &Place<'_>, fs: &MountedFileSystem) -> Vec<Check> {
    let set: Vec<&str> = fs.options.split(',').collect();
    let mut checks = Vec::new();
    for option in &set {
        let wanted = place.spec.is_some_and(|spec| spec.options.iter().any(|known| known == option));
        if let Some(fault) =
            fault_of(option, place.role.is_some()).filter(|fault| !wanted || fault.outcome == Outcome::Fail)
            && checks.iter().all(|known: &Check| known.id != fault.id)
        {
            checks.push(
                Row::new(fault.id, &fs.mount)
                    .value(*option)
                    .expected(fault.expected)
                    .why(fault.why)
                    .mend(remount(fs, fault.remount))
                    .is(fault.outcome),
            );
        }
    }
    checks.extend(missing(place, fs, &set));
    // relatime writes once a day at most; noatime is for those who count each write.
    let atime = set.iter().any(|option| ["noatime", "relatime", "strictatime", "ro"].contains(option));
    if !atime {
        let row =
            Row::new("mount-atime", &fs.mount).value("neither noatime nor relatime").expected("noatime");
        let row = row.why("each read writes the file's access time").mend(remount(fs, "noatime"));
        checks.push(row.is(Outcome::Warn));
    }
    if checks.is_empty() {
        checks.push(
            Row::new("mount-options", &fs.mount)
                .value(&*fs.options)
                .expected("nothing that bends figures")
                .is(Outcome::Pass),
        );
    }
    checks
}

/// Options that the context wants and the mount has not.
fn missing(place: &Place<'_>, fs: &MountedFileSystem, set: &[&str]) -> Option<Check> {
    // noatime implies nodiratime, and the kernel shows the first alone or both; mount(8).
    let has = |option: &str| {
        let words = ["defaults", "auto", "nofail", "_netdev", "rw", "async", "barrier=1", "nodiscard"];
        set.contains(&option)
            || words.contains(&option)
            || option.starts_with("x-")
            || option == "nodiratime" && set.contains(&"noatime")
            // Options that are the kernel's default do not show: of those with a value nothing is known.
            || option == "data=ordered"
    };
    let spec = place.spec?;
    let missing: Vec<&str> = spec.options.iter().map(String::as_str).filter(|option| !has(option)).collect();
    if missing.is_empty() {
        return None;
    }
    let id = if missing.contains(&"noatime") { "mount-atime" } else { "mount-options" };
    let why = if id == "mount-atime" {
        "reads write access times, now and then"
    } else {
        "the context asks for it"
    };
    Some(
        Row::new(id, &fs.mount)
            .value(format!("without {}", missing.join(",")))
            .expected(spec.options.join(","))
            .why(why)
            .mend(format!("{}   # and in /etc/fstab", remount(fs, &missing.join(","))))
            .is(Outcome::Warn),
    )
}

fn remount(fs: &MountedFileSystem, options: &str) -> String {
    if options.is_empty() {
        let (device, mount) = (node(&fs.device), shell(&fs.mount));
        return format!("correct /etc/fstab, then: sudo umount {mount} && sudo mount {mount}   # {device}");
    }
    format!("sudo mount -o remount,{} {}", shell(options), shell(&fs.mount))
}
