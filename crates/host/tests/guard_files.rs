//! What the guard says about files and directories.

mod fixtures;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use iobound_host::System;
use iobound_host::guard::{
    Intent, Policy, Reason, Refusal, Target, TargetKind, Wants, check, check_space, free_space, is_ours,
    mark_ours,
};

fn ask(path: &Path, intent: Intent, policy: &Policy) -> Result<Target, Refusal> {
    check(&System::live(), path, intent, policy)
}

fn write(path: &Path) -> Result<Target, Refusal> {
    ask(path, Intent::Write, &Policy::default())
}

fn overwrite(path: &Path) -> Result<Target, Refusal> {
    ask(path, Intent::Write, &Policy { overwrite: true, ..Policy::default() })
}

fn read(path: &Path) -> Result<Target, Refusal> {
    ask(path, Intent::Read, &Policy::default())
}

macro_rules! refused {
    ($result:expr, $code:literal, $reason:pat) => {
        let refusal = $result.unwrap_err();
        assert!(matches!(refusal.reason, $reason), "{refusal:?}");
        assert_eq!(refusal.exit_code(), $code, "{refusal}");
    };
}

#[test]
fn a_new_file_and_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let new = directory.path().join("new");
    assert_eq!(write(&new).unwrap().kind, TargetKind::NewFile);
    assert!(!new.exists(), "the check must not make it");
    assert_eq!(write(directory.path()).unwrap().kind, TargetKind::Directory);
    assert_eq!(read(directory.path()).unwrap().kind, TargetKind::Directory);
    refused!(read(&new), 2, Reason::Missing);
    refused!(write(&directory.path().join("no/such/file")), 2, Reason::NoDirectory { .. });
    refused!(write(Path::new("")), 2, Reason::Unreachable { .. });
    let trailing = format!("{}/", new.display());
    refused!(write(Path::new(&trailing)), 2, Reason::NoDirectory { .. });
}

#[test]
fn what_is_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    File::create(&file).unwrap();
    let wants = |wants| Policy { overwrite: true, wants, ..Policy::default() };
    refused!(ask(directory.path(), Intent::Write, &wants(Wants::File)), 2, Reason::IsDirectory);
    refused!(ask(&file, Intent::Write, &wants(Wants::Directory)), 2, Reason::NotDirectory);
    let new = directory.path().join("new");
    refused!(ask(&new, Intent::Write, &wants(Wants::Directory)), 2, Reason::NoDirectory { .. });
}

#[test]
fn files_of_others_need_to_be_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "precious").unwrap();
    refused!(write(&file), 3, Reason::NotOurs { size_bytes: 8, links: 1 });
    assert_eq!(overwrite(&file).unwrap().kind, TargetKind::File { size_bytes: 8, ours: false });
    read(&file).unwrap();
    fs::hard_link(&file, directory.path().join("other")).unwrap();
    refused!(write(&file), 3, Reason::NotOurs { links: 2, .. });
    assert!(overwrite(&file).unwrap().notes[0].contains("2 hard links"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn our_own_files_are_known_again_and_their_copies_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ours");
    let file = File::create_new(&path).unwrap();
    assert!(!is_ours(&file));
    if !mark_ours(&file).unwrap() {
        return fixtures::skip("the temporary directory's file system has no user attributes");
    }
    assert!(is_ours(&file));
    assert_eq!(write(&path).unwrap().kind, TargetKind::File { size_bytes: 0, ours: true });
    let copy = directory.path().join("copy");
    fixtures::run("cp", &["-a", path.to_str().unwrap(), copy.to_str().unwrap()]);
    refused!(write(&copy), 3, Reason::NotOurs { .. });
}

#[test]
fn links_are_followed() {
    let directory = tempfile::tempdir().unwrap();
    let link = |name: &str, to: &Path| {
        let path = directory.path().join(name);
        symlink(to, &path).unwrap();
        path
    };
    let file = directory.path().join("file");
    fs::write(&file, "x").unwrap();
    let to_file = link("to-file", &file);
    refused!(write(&to_file), 3, Reason::NotOurs { .. });
    assert_eq!(overwrite(&to_file).unwrap().path, fs::canonicalize(&file).unwrap());
    refused!(write(&link("dangling", Path::new("gone"))), 2, Reason::DanglingLink { .. });
    refused!(write(&link("round", Path::new("round"))), 2, Reason::Unreachable { .. });
    refused!(write(&file.join("below")), 2, Reason::ParentNotDirectory { .. });
}

#[test]
fn what_is_no_storage() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let socket = directory.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    refused!(write(&fifo), 2, Reason::NotStorage { what: "FIFO" });
    refused!(read(&fifo), 2, Reason::NotStorage { .. });
    refused!(write(&socket), 2, Reason::NotStorage { what: "socket" });
    refused!(write(Path::new("/dev/null")), 2, Reason::NotStorage { what: "character device" });
    refused!(overwrite(Path::new("/proc/self/comm")), 2, Reason::KernelFilesystem { .. });
    refused!(overwrite(Path::new("/sys/kernel/uevent_seqnum")), 2, Reason::KernelFilesystem { .. });
    // A mistyped device name must not become a file in memory.
    refused!(write(Path::new("/dev/iobound-mistyped")), 2, Reason::KernelFilesystem { .. });
}

#[test]
fn what_was_opened_must_be_what_was_checked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "first").unwrap();
    let target = overwrite(&path).unwrap();
    target.confirm(File::open(&path).unwrap()).unwrap();
    fs::write(directory.path().join("second"), "second").unwrap();
    fs::rename(directory.path().join("second"), &path).unwrap();
    refused!(target.confirm(File::open(&path).unwrap()), 3, Reason::Replaced);
}

#[test]
fn space_is_checked_with_headroom() {
    let directory = tempfile::tempdir().unwrap();
    let space = free_space(directory.path()).unwrap();
    assert!(space.available_bytes <= space.total_bytes);
    check_space(directory.path(), 0, 0).unwrap();
    refused!(check_space(directory.path(), space.total_bytes, 1 << 30), 2, Reason::NoSpace { .. });
    refused!(check_space(directory.path(), u64::MAX, u64::MAX), 2, Reason::NoSpace { .. });
}

#[test]
fn permissions_are_asked_for_without_opening() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "x").unwrap();
    let locked = directory.path().join("locked");
    fs::create_dir(&locked).unwrap();
    for (path, mode) in [(&file, 0o444), (&locked, 0o555)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let ask = || {
        refused!(overwrite(&file), 2, Reason::NotPermitted { within: None, .. });
        read(&file).unwrap();
        refused!(write(&locked), 2, Reason::NotPermitted { .. });
        refused!(write(&locked.join("new")), 2, Reason::NotPermitted { within: Some(_), .. });
    };
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fixtures::as_nobody(ask);
    } else {
        ask();
    }
}

#[test]
fn marks_of_chattr_are_seen() {
    if !rustix::process::geteuid().is_root() {
        return fixtures::skip("chattr needs root");
    }
    if !fixtures::has("chattr") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "x").unwrap();
    let name = path.to_str().unwrap();
    for (mark, letter) in [("immutable", "i"), ("append-only", "a")] {
        if !fixtures::try_run("chattr", &[&format!("+{letter}"), name]).status.success() {
            return fixtures::skip("the temporary directory's file system has no chattr marks");
        }
        let asked = overwrite(&path);
        fixtures::run("chattr", &[&format!("-{letter}"), name]);
        match asked.unwrap_err().reason {
            Reason::Marked { mark: seen } => assert_eq!(seen, mark),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_file_behind_a_loop_device_is_in_use() {
    if !fixtures::may_use_loops() {
        return;
    }
    let device = fixtures::Loop::on_visible_file(1 << 20);
    refused!(overwrite(&device.file), 3, Reason::FileInUse { .. });
    read(&device.file).unwrap();
}

#[test]
fn a_read_only_mount_is_named() {
    if !fixtures::may_use_loops() {
        return;
    }
    fixtures::private_mounts();
    let directory = tempfile::tempdir().unwrap();
    let device = fixtures::Loop::new(16 << 20);
    fixtures::run("mkfs.ext4", &["-q", device.path()]);
    let at = directory.path().join("mnt");
    fs::create_dir(&at).unwrap();
    fixtures::run("mount", &["-n", "-t", "ext4", device.path(), at.to_str().unwrap()]);
    let file = at.join("file");
    mark_ours(OpenOptions::new().write(true).create_new(true).open(&file).unwrap()).unwrap();
    write(&file).unwrap();
    fixtures::run("mount", &["-n", "-o", "remount,ro", at.to_str().unwrap()]);
    let at = fs::canonicalize(&at).unwrap();
    for path in [&file, &at, &at.join("new")] {
        match write(path).unwrap_err().reason {
            Reason::ReadOnlyFilesystem { mount_point } => assert_eq!(mount_point, at),
            other => panic!("{other:?}"),
        }
    }
    read(&file).unwrap();
}
