//! A job in dd's words, or what of it dd has no words for.

use std::path::Path;

use iobound_record::{Extent, Job, SyncMode, Verify};

/// Why dd cannot do a job: everything that it asks and dd has no option for. Empty when it can.
pub fn cannot(job: &Job) -> Vec<String> {
    let (smallest, largest) = job.block_sizes();
    let plain = Job::default();
    let set = |on: bool, option: &str, why: &str| on.then(|| format!("{option}: {why}"));
    let in_order = "dd reads or writes in order";
    let alone = "dd does one thing at a time";
    [
        set(job.rw.is_random() || job.rw.is_mixed(), &format!("rw={}", job.rw), in_order),
        set(smallest != largest, "bsrange or bssplit", "dd has one block size"),
        set(job.iodepth > 1, &format!("iodepth={}", job.iodepth), alone),
        set(job.numjobs > 1, &format!("numjobs={}", job.numjobs), alone),
        set(job.filename.len() > 1 || job.nrfiles > 1, "several files", "dd has one"),
        set(
            job.fsync > 0 || job.fdatasync > 0,
            if job.fsync > 0 { "fsync" } else { "fdatasync" },
            "dd syncs each write by O_SYNC (sync=sync), or once at the end",
        ),
        set(job.rate != plain.rate || job.rate_iops != plain.rate_iops, "rate", "dd knows no pace"),
        set(job.thinktime_ns > 0, "thinktime", "dd knows no pause"),
        set(job.ramp_time_ns > 0, "ramp_time", "dd's figures are those of the whole copy"),
        set(job.startdelay_ns > 0 || job.loops > 1, "startdelay or loops", "dd copies once, at once"),
        set(job.verify != Verify::None, "verify", "dd checks nothing"),
        set(job.cpus_allowed.is_some(), "cpus_allowed", "dd chooses no processor"),
        set(
            job.rw.writes() && !job.zero_buffers,
            "data",
            "what is written is dd's zeroes (add zero_buffers=1), or our engines' data",
        ),
        set(!matches!(job.size, Some(Extent::Bytes(_))), "size", "dd needs it in bytes"),
        set(offset(job).is_none_or(|at| at % job.bs.max(1) != 0), "offset", "dd counts in whole blocks"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn offset(job: &Job) -> Option<u64> {
    match job.offset {
        None => Some(0),
        Some(Extent::Bytes(bytes)) => Some(bytes),
        Some(Extent::Percent(_)) => None,
    }
}

/// dd's arguments for a job that it can do, on a file or device that exists. It is opened as it is: never
/// made, never cut, and not through a symbolic link.
pub fn command(job: &Job, path: &Path) -> Vec<String> {
    let bs = job.bs.max(1);
    let bytes = match (job.io_size, job.size) {
        (Some(bytes), _) | (None, Some(Extent::Bytes(bytes))) => bytes,
        _ => 0,
    };
    let count = (bytes / bs).min(job.number_ios.unwrap_or(u64::MAX));
    let skip = offset(job).unwrap_or(0) / bs;
    let mut flags = vec!["nofollow"];
    if job.direct {
        flags.push("direct");
    }
    match job.sync {
        SyncMode::None => {}
        SyncMode::Sync => flags.push("sync"),
        SyncMode::Dsync => flags.push("dsync"),
    }
    let flags = flags.join(",");
    let file = path.display();
    let block = bs;
    let mut words = match job.rw.writes() {
        true => {
            let conv = if job.end_fsync { "notrunc,nocreat,fsync" } else { "notrunc,nocreat" };
            vec![
                "if=/dev/zero".into(),
                format!("of={file}"),
                format!("conv={conv}"),
                format!("oflag={flags}"),
            ]
        }
        false => vec![format!("if={file}"), "of=/dev/null".into(), format!("iflag={flags}")],
    };
    words.extend([format!("bs={block}"), format!("count={count}")]);
    if skip > 0 {
        words.push(format!("{}={skip}", if job.rw.writes() { "seek" } else { "skip" }));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::Rw;

    fn write() -> Job {
        let size = Some(Extent::Bytes(100 << 20));
        Job { rw: Rw::Write, size, zero_buffers: true, ..Job::default() }
    }

    #[test]
    fn the_seeds_commands() {
        let job = Job { sync: SyncMode::Sync, direct: false, bs: 1 << 20, ..write() };
        assert_eq!(cannot(&job), Vec::<String>::new());
        assert_eq!(
            command(&job, Path::new("/d/f")).join(" "),
            "if=/dev/zero of=/d/f conv=notrunc,nocreat oflag=nofollow,sync bs=1048576 count=100"
        );
        let read = Job { rw: Rw::Read, offset: Some(Extent::Bytes(8192)), ..write() };
        assert_eq!(
            command(&read, Path::new("f")).join(" "),
            "if=f of=/dev/null iflag=nofollow,direct bs=4096 count=25600 skip=2"
        );
    }

    #[test]
    fn what_dd_cannot_do_is_said_by_its_option() {
        type Spoil = fn(&mut Job);
        let cases: [(&str, Spoil); 9] = [
            ("rw=randwrite", |j| j.rw = Rw::RandWrite),
            ("iodepth=8", |j| j.iodepth = 8),
            ("numjobs=2", |j| j.numjobs = 2),
            ("fsync", |j| j.fsync = 1),
            ("fdatasync", |j| j.fdatasync = 1),
            ("ramp_time", |j| j.ramp_time_ns = 1),
            ("data", |j| j.zero_buffers = false),
            ("size", |j| j.size = None),
            ("offset", |j| j.offset = Some(Extent::Bytes(5))),
        ];
        for (option, spoil) in cases {
            let mut job = write();
            spoil(&mut job);
            let why = cannot(&job);
            assert!(why.len() == 1 && why[0].starts_with(option), "{option}: {why:?}");
        }
    }
}
