//! What people read when a target is refused.

use std::io;
use std::path::PathBuf;

use iobound_host::HostError;
use iobound_host::guard::{Claim, Reason, Refusal, Signature};

fn every_reason() -> Vec<(&'static str, Reason)> {
    let denied = || io::Error::from_raw_os_error(13);
    let signature = |name: &str, offset| Signature { name: name.into(), offset };
    vec![
        ("/data/a", Reason::Missing),
        ("/data/x/a", Reason::NoDirectory { directory: "/data/x".into() }),
        ("/data/f/a", Reason::ParentNotDirectory { parent: "/data/f".into() }),
        ("/data/link", Reason::DanglingLink { points_to: "../gone".into() }),
        ("/data", Reason::IsDirectory),
        ("/data/f", Reason::NotDirectory),
        ("/data/pipe", Reason::NotStorage { what: "FIFO" }),
        ("/proc/sysrq-trigger", Reason::KernelFilesystem { filesystem: "proc".into() }),
        ("/data/f", Reason::NotPermitted { verb: "write", error: denied(), within: None }),
        ("/data/f", Reason::NotPermitted { verb: "write", error: denied(), within: Some("/data".into()) }),
        ("/data/f", Reason::ReadOnlyFilesystem { mount_point: "/data".into() }),
        ("/dev/vdb", Reason::ReadOnlyDevice),
        ("/dev/loop9", Reason::EmptyDevice),
        ("/data/f", Reason::Marked { mark: "immutable" }),
        ("/data/f", Reason::Marked { mark: "append-only" }),
        ("/data/f", Reason::Unreachable { error: io::Error::from_raw_os_error(40) }),
        (
            "/data",
            Reason::NoSpace { needed_bytes: 10 << 30, headroom_bytes: 256 << 20, available_bytes: 3 << 30 },
        ),
        ("/data/f", Reason::NotOurs { size_bytes: 4096, links: 1 }),
        ("/data/f", Reason::NotOurs { size_bytes: 123, links: 3 }),
        ("/swapfile", Reason::FileInUse { claims: vec![Claim::Swap { on: "/swapfile".into() }] }),
        ("/vm.img", Reason::FileInUse { claims: vec![Claim::Loop { device: "loop3".into() }] }),
        (
            "/dev/vda",
            Reason::DeviceInUse {
                claims: vec![
                    Claim::Root { device: "vda1".into() },
                    Claim::Mounted { device: "vda2".into(), at: "/home".into() },
                    Claim::Holder { device: "vda3".into(), by: "md0".into() },
                ],
            },
        ),
        ("/dev/vdb", Reason::DeviceInUse { claims: vec![Claim::Exclusive] }),
        (
            "/dev/vdb",
            Reason::HoldsData {
                signatures: vec![
                    signature("GPT partition table", 512),
                    signature("partition vdb1: ext4", 1080),
                ],
                misnamed: vec![],
            },
        ),
        (
            "/dev/vdb",
            Reason::HoldsData { signatures: vec![signature("xfs", 0)], misnamed: vec!["/dev/vbd".into()] },
        ),
        ("/dev/vdb", Reason::NotNamed { head_is_empty: true, misnamed: vec![] }),
        ("/dev/vdb", Reason::NotNamed { head_is_empty: false, misnamed: vec![PathBuf::from("vdb")] }),
        ("/dev/vdb", Reason::Unverifiable { error: HostError::NoSuchDevice { device: "254:16".into() } }),
        ("/data/f", Reason::Locked { holder: Some((1234, "iobound".into())) }),
        ("/data/f", Reason::Locked { holder: None }),
        ("/dev/vdb", Reason::Replaced),
    ]
}

#[test]
fn every_refusal_names_target_evidence_and_remedy() {
    let text: Vec<String> = every_reason()
        .into_iter()
        .map(|(target, reason)| {
            let refusal = Refusal { target: target.into(), reason };
            format!("{refusal}\n  exit code: {}\n", refusal.exit_code())
        })
        .collect();
    insta::assert_snapshot!(text.join("\n"));
}
