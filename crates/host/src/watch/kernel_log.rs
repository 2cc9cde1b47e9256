//! What the kernel's log says of storage and of throttled processors.
//!
//! `/dev/kmsg`, a record a read: Documentation/ABI/testing/dev-kmsg. Reading it takes nothing away from
//! others. With `kernel.dmesg_restrict` it needs CAP_SYSLOG.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

use crate::system::System;

/// A record is at most this long: PRINTKRB_RECORD_MAX and its prefix, kernel/printk/printk.c.
const RECORD_MAX: usize = 8 << 10;
/// A failing disk says the same a thousand times; the last lines are enough.
const LINES_MAX: usize = 20;
/// More records than the largest log buffer holds.
const RECORDS_MAX: usize = 1 << 20;

/// Words that a line must hold all of, in lower case, and where the kernel says them.
const PATTERNS: [&[&str]; 20] = [
    // blk_update_request / blk_print_req_error, block/blk-mq.c
    &["i/o error, dev"],
    &["critical medium error, dev"],
    &["critical target error, dev"],
    // buffer_io_error, fs/buffer.c
    &["buffer i/o error on dev"],
    // nvme_timeout and nvme_reset_work, drivers/nvme/host/pci.c
    &["nvme", "timeout"],
    &["nvme", "controller is down"],
    &["nvme", "resetting controller"],
    &["nvme", "removing after probe failure"],
    // ata_eh_link_report, drivers/ata/libata-eh.c
    &["ata", "exception emask"],
    &["ata", "hard resetting link"],
    // scsi_eh and drivers: drivers/scsi/scsi_error.c, sd.c
    &["sd ", "timing out command"],
    &["rejecting i/o to offline device"],
    // md_error in the personalities, drivers/md/raid1.c, raid5.c, raid10.c
    &["md/raid", "disk failure on"],
    &["md:", "not clean -- starting background reconstruction"],
    // ext4_handle_error, fs/ext4/super.c; xfs_alert and xfs_do_force_shutdown, fs/xfs
    &["ext4-fs error"],
    &["xfs", "i/o error"],
    &["xfs", "filesystem has been shut down"],
    // check_hung_task, kernel/hung_task.c
    &["blocked for more than", "seconds"],
    // intel_thermal, drivers/thermal/intel/therm_throt.c
    &["cpu clock throttled"],
    // clocksource_watchdog, kernel/time/clocksource.c
    &["clocksource", "unstable"],
];

/// The last lines that complain; None when the log may not be read.
pub(super) fn complaints(system: &System) -> Option<Vec<String>> {
    let mut log = if system.is_live() {
        let opened =
            OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open("/dev/kmsg");
        opened.ok()?
    } else {
        // A captured tree has the records as lines of a file.
        let text = system.attribute("/dev/kmsg")?;
        return Some(last(text.lines().filter_map(message).filter(|line| complains(line)).collect()));
    };
    let mut found = Vec::new();
    let mut record = [0; RECORD_MAX];
    for _ in 0..RECORDS_MAX {
        match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => {
                let text = String::from_utf8_lossy(&record[..length]).into_owned();
                found.extend(text.lines().next().and_then(message).filter(|line| complains(line)));
            }
            // The record was overwritten while we read: the next read goes on behind it.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Nothing more for now.
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(_) => return (!found.is_empty()).then(|| last(found)),
        }
    }
    Some(last(found))
}

fn last(mut lines: Vec<String>) -> Vec<String> {
    let from = lines.len().saturating_sub(LINES_MAX);
    lines.split_off(from)
}

/// `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT`, as `dmesg` shows it: with the seconds since boot.
/// Only the kernel's own words count (facility 0): anybody who may write to the file can say anything.
fn message(record: &str) -> Option<String> {
    /// The priority's lower three bits are the level: include/linux/kern_levels.h.
    const FACILITY_SHIFT: u32 = 3;
    let (head, text) = record.split_once(';')?;
    let mut fields = head.split(',');
    let priority: u64 = fields.next()?.parse().ok()?;
    let microseconds: u64 = fields.nth(1)?.parse().ok()?;
    if priority >> FACILITY_SHIFT != 0 {
        return None;
    }
    Some(format!("[{:.6}] {}", microseconds as f64 / 1e6, text.trim()))
}

fn complains(line: &str) -> bool {
    let line = line.to_lowercase();
    PATTERNS.iter().any(|words| words.iter().all(|word| line.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_complain() {
        for line in [
            "blk_update_request: I/O error, dev sdb, sector 2048 op 0x0:(READ) flags 0x80700",
            "nvme nvme1: I/O 12 QID 3 timeout, aborting",
            "nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10",
            "md/raid10:md0: Disk failure on nvme3n1, disabling device.",
            "INFO: task postgres:812 blocked for more than 120 seconds.",
            "CPU3: Core temperature above threshold, cpu clock throttled (total events = 1)",
            "XFS (md0): metadata I/O error in \"xfs_trans_read_buf_map\" at daddr 0x1 len 1 error 5",
        ] {
            assert!(complains(line), "{line}");
        }
        for line in [
            "nvme nvme0: 2/0/0 default/read/poll queues",
            "EXT4-fs (vda): mounted filesystem with ordered data mode",
            "Data: initialised",
        ] {
            assert!(!complains(line), "{line}");
        }
    }

    #[test]
    fn records() {
        assert_eq!(
            message("3,12,1500000,-;I/O error, dev sdb").as_deref(),
            Some("[1.500000] I/O error, dev sdb")
        );
        // A program's own words, and what is no record.
        for other in ["11,12,1500000,-;I/O error, dev sdb", "", "x;y", "3;y", " SUBSYSTEM=block"] {
            assert_eq!(message(other), None, "{other}");
        }
    }

    #[test]
    fn the_last_lines_are_kept() {
        let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let kept = last(many);
        assert_eq!((kept.len(), kept[0].as_str()), (LINES_MAX, "80"));
    }
}
