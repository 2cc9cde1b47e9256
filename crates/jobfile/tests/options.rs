//! Each option of a fio job file, with the value it leaves in the job.

use std::path::PathBuf;

use iobound_jobfile::{Options, Support, option_table, parse_fio, parse_toml};
use iobound_record::{
    BlockShare, Distribution, EngineChoice, Extent, Fallocate, Job, PerDirection, Rw, SyncMode, Verify,
};

const SEED: u64 = 77;

fn read(lines: &str) -> Result<Job, String> {
    let options = Options { fresh_seed: SEED, ..Options::default() };
    match parse_fio(&format!("[job]\n{lines}"), "t.fio", &options) {
        Ok(mut file) => Ok(file.jobs.remove(0)),
        Err(errors) => Err(errors.to_string()),
    }
}

/// The lines make of fio's default job what `change` does.
#[track_caller]
fn sets(lines: &str, change: fn(&mut Job)) {
    let mut expected = Job::fio_default();
    change(&mut expected);
    assert_eq!(read(lines).as_ref(), Ok(&expected), "{lines}");
}

#[track_caller]
fn fails(lines: &str, word: &str) {
    let text = read(lines).expect_err(lines);
    assert!(text.contains(word), "{lines}: {text}");
}

fn split(parts: &[(u64, u8)]) -> Option<Vec<BlockShare>> {
    Some(parts.iter().map(|&(k, percent)| BlockShare { bs: k << 10, percent }).collect())
}

fn both<T: Copy>(value: T) -> PerDirection<Option<T>> {
    PerDirection { read: Some(value), write: Some(value) }
}

#[test]
fn nothing_said_is_fios_default_job() {
    sets("", |_| ());
    let job = read("").unwrap();
    assert!(!job.direct && !job.overwrite && !job.group_reporting && job.iodepth_batch == 1);
}

#[test]
fn patterns() {
    sets("rw=randrw\nrwmixread=70", |j| (j.rw, j.rwmixread) = (Rw::RandRw, 70));
    sets("readwrite=readwrite\nrwmixwrite=30", |j| (j.rw, j.rwmixread) = (Rw::Rw, 70));
    sets("rw=randread:1", |j| j.rw = Rw::RandRead);
    sets("rw=write:0", |j| j.rw = Rw::Write);
    fails("rw=randread:8", "no runs or holes");
    fails("rw=write:4k", "no runs or holes");
    fails("rw=trim", "does not trim");
    fails("rw=", "needs a value");
    fails("rwmixread=101", "0 to 100");
}

#[test]
fn engines() {
    for (name, engine) in [
        ("io_uring", EngineChoice::IoUring),
        ("libaio", EngineChoice::Libaio),
        ("psync", EngineChoice::Psync),
        ("sync", EngineChoice::Psync),
        ("pvsync", EngineChoice::Psync),
        ("pvsync2", EngineChoice::Psync),
        ("null", EngineChoice::Null),
    ] {
        assert_eq!(read(&format!("ioengine={name}")).unwrap().ioengine, engine, "{name}");
    }
    for name in ["mmap", "posixaio", "auto", "fio", "rbd", "vsync"] {
        fails(&format!("ioengine={name}"), "cannot honour");
    }
}

#[test]
fn block_sizes() {
    sets("bs=8k", |j| j.bs = 8192);
    sets("blocksize=8192", |j| j.bs = 8192);
    sets("bs=8k,8k\nrw=rw", |j| (j.bs, j.rw) = (8192, Rw::Rw));
    // Only the direction that the job has counts.
    sets("bs=8k,16k", |j| j.bs = 8192);
    sets("bs=8k,16k\nrw=write", |j| (j.bs, j.rw) = (16384, Rw::Write));
    sets("rw=write\nbs=16k,", |j| j.rw = Rw::Write);
    fails("bs=8k,16k\nrw=rw", "t.fio:2: cannot honour 'bs=8k,16k'");
    fails("bs=0", "moves nothing");
    sets("bsrange=1k-4k", |j| (j.bs, j.bsrange) = (4096, Some((1024, 4096))));
    sets("blocksize_range=4k-1k", |j| (j.bs, j.bsrange) = (4096, Some((1024, 4096))));
    fails("bsrange=4k", "MIN-MAX");
    fails("bsrange=1k-2k,4k-8k\nrw=randrw", "cannot honour");
    sets("bssplit=4k/50:64k/50", |j| (j.bs, j.bssplit) = (65536, split(&[(4, 50), (64, 50)])));
    sets("bssplit=4k/10:8k:16k", |j| (j.bs, j.bssplit) = (16384, split(&[(4, 10), (8, 45), (16, 45)])));
    // fio divides by three and rounds down; its search ends with the last entry whatever its share.
    sets("bssplit=4k:8k:16k", |j| (j.bs, j.bssplit) = (16384, split(&[(4, 33), (8, 33), (16, 34)])));
    sets("bssplit=4k", |j| j.bssplit = split(&[(4, 100)]));
    sets("bssplit=4k/100,8k/100\nrw=write", |j| {
        (j.bs, j.rw, j.bssplit) = (8192, Rw::Write, split(&[(8, 100)]));
    });
    fails("bssplit=4k/50:8k/40", "sum to 90%");
    fails("bssplit=4k/60:8k/60", "sum to 120%");
    fails("bssplit=4k/x", "percentage");
    fails(&format!("bssplit={}", vec!["4k"; 65].join(":")), "1 to 64");
}

#[test]
fn randomness() {
    sets("random_distribution=zipf:1.2", |j| j.random_distribution = Distribution::Zipf { theta: 1.2 });
    sets("random_distribution=zipf", |j| j.random_distribution = Distribution::Zipf { theta: 1.1 });
    sets("random_distribution=pareto:0.9", |j| j.random_distribution = Distribution::Pareto { h: 0.9 });
    sets("random_distribution=normal:10", |j| {
        j.random_distribution = Distribution::Normal { deviation: 10.0 }
    });
    sets("random_distribution=random", |_| ());
    fails("random_distribution=zipf:1.2/0.5", "centre");
    fails("random_distribution=zoned:50/5:30/15:20/", "use random");
    fails("random_distribution=zipf:1", "t.fio:2: job 'job': random_distribution");
    fails("random_distribution=normal", "needs a value");
    sets("norandommap", |j| j.norandommap = true);
    sets("norandommap=0", |_| ());
    sets("randseed=0x10", |j| j.randseed = 16);
    sets("randrepeat=1", |_| ());
    sets("randrepeat=0", |j| j.randseed = SEED);
    sets("randrepeat=0\nallrandrepeat=1", |_| ());
    sets("randrepeat=0\nrandseed=5", |j| j.randseed = 5);
}

#[test]
fn files_and_sizes() {
    let paths = |list: &[&str]| -> Vec<PathBuf> { list.iter().map(PathBuf::from).collect() };
    assert_eq!(read("filename=a:b\\:c").unwrap().filename, paths(&["a", "b:c"]));
    // As fio: names add up, and a directory is put before each, absolute ones too.
    assert_eq!(read("filename=a\nfilename=b:a").unwrap().filename, paths(&["a", "b"]));
    let job = read("filename=/x/y:z:s/t\ndirectory=/d").unwrap();
    assert_eq!(job.filename, paths(&["/d/x/y", "z", "/d/s/t"]));
    assert_eq!(job.directory, Some("/d".into()));
    fails("directory=/a:/b", "cannot honour");
    fails("filename=", "needs a value");
    sets("nrfiles=4", |j| j.nrfiles = 4);
    sets("size=1g", |j| j.size = Some(Extent::Bytes(1 << 30)));
    sets("size=50%", |j| j.size = Some(Extent::Percent(50)));
    sets("size=0", |_| ());
    sets("filesize=1g\nnrfiles=3", |j| (j.size, j.nrfiles) = (Some(Extent::Bytes(3 << 30)), 3));
    fails("filesize=1g\nsize=1g", "size is set too");
    fails("filesize=1g-2g", "one size");
    sets("io_size=1m", |j| j.io_size = Some(1 << 20));
    sets("io_limit=1m", |j| j.io_size = Some(1 << 20));
    fails("io_size=50%", "give bytes");
    sets("offset=10%", |j| j.offset = Some(Extent::Percent(10)));
    sets("offset_increment=1g", |j| j.offset_increment = Some(Extent::Bytes(1 << 30)));
    fails("offset=3z", "zoned");
    sets("kb_base=1000\nsize=1g", |j| j.size = Some(Extent::Bytes(1_000_000_000)));
    sets("size=1gib", |j| j.size = Some(Extent::Bytes(1_000_000_000)));
    // kb_base counts for its whole section.
    sets("size=1gib\nkb_base=1000", |j| j.size = Some(Extent::Bytes(1 << 30)));
    fails("kb_base=10", "1024 or 1000");
}

#[test]
fn how_files_are_opened_and_made() {
    sets("direct=1", |j| j.direct = true);
    sets("direct", |j| j.direct = true);
    sets("direct=1\nbuffered=1", |_| ());
    sets("buffered=0", |j| j.direct = true);
    sets("sync=1", |j| j.sync = SyncMode::Sync);
    sets("sync=sync", |j| j.sync = SyncMode::Sync);
    sets("sync=dsync", |j| j.sync = SyncMode::Dsync);
    sets("sync=0", |_| ());
    fails("sync=2", "none, sync or dsync");
    sets("fallocate=none", |j| j.fallocate = Fallocate::None);
    sets("fallocate=truncate", |j| j.fallocate = Fallocate::Truncate);
    sets("fallocate=posix", |_| ());
    fails("fallocate=keep", "cannot honour");
    sets("overwrite=1", |j| j.overwrite = true);
    fails("direct=yes", "1 or 0");
}

#[test]
fn processors() {
    sets("cpus_allowed=0-3,5", |j| j.cpus_allowed = Some(vec![0, 1, 2, 3, 5]));
    sets("cpumask=0x5", |j| j.cpus_allowed = Some(vec![0, 2]));
    fails("cpus_allowed=3-1", "counts down");
    fails("cpus_allowed=0-4000000000", "processor numbers");
    fails("cpus_allowed=,", "needs a value");
    fails("cpumask=0", "no processor");
    sets("cpus_allowed_policy=shared", |_| ());
    fails("cpus_allowed_policy=split", "cannot honour");
}

#[test]
fn flow() {
    sets("iodepth=32\niodepth_batch=8", |j| (j.iodepth, j.iodepth_batch) = (32, 8));
    sets("iodepth=32\niodepth_batch_submit=0", |j| (j.iodepth, j.iodepth_batch) = (32, 0));
    sets("iodepth=4\niodepth_batch=8", |j| (j.iodepth, j.iodepth_batch) = (4, 4));
    fails("iodepth=0", "t.fio:2: job 'job': iodepth");
    fails("iodepth=9999999999", "2^32");
    sets("numjobs=4", |j| j.numjobs = 4);
    sets("runtime=60", |j| j.runtime_ns = Some(60_000_000_000));
    sets("timeout=2m", |j| j.runtime_ns = Some(120_000_000_000));
    sets("runtime=0", |_| ());
    sets("runtime=1h\ntime_based", |j| (j.runtime_ns, j.time_based) = (Some(3_600_000_000_000), true));
    sets("ramp_time=500ms", |j| j.ramp_time_ns = 500_000_000);
    sets("startdelay=5", |j| j.startdelay_ns = 5_000_000_000);
    fails("startdelay=5-10", "random delay");
    sets("loops=3", |j| j.loops = 3);
    sets("number_ios=1k", |j| j.number_ios = Some(1024));
    sets("stonewall", |j| j.stonewall = true);
    sets("wait_for_previous", |j| j.stonewall = true);
    sets("thinktime=100\nthinktime_blocks=8", |j| (j.thinktime_ns, j.thinktime_blocks) = (100_000, 8));
    sets("thinktime=1ms", |j| j.thinktime_ns = 1_000_000);
    sets("fsync=1", |j| j.fsync = 1);
    sets("fdatasync=32", |j| j.fdatasync = 32);
    sets("end_fsync=1", |j| j.end_fsync = true);
    fails("fsync=1\nfdatasync=1", "t.fio:2: job 'job': fsync");
}

#[test]
fn rates() {
    sets("rate=1m", |j| j.rate = both(1 << 20));
    sets("rate=1m,500k", |j| j.rate = PerDirection { read: Some(1 << 20), write: Some(500 << 10) });
    sets("rate=,500k", |j| j.rate.write = Some(500 << 10));
    sets("rate=1m,", |j| j.rate.read = Some(1 << 20));
    sets("rate=1m\nrate=0", |_| ());
    sets("rate_iops=1000,2000", |j| j.rate_iops = PerDirection { read: Some(1000), write: Some(2000) });
    fails("rate=1m\nrate_iops=5", "not both");
    fails("rate=fast", "does not start with a number");
    fails("rate_process=poisson", "evenly");
}

#[test]
fn data() {
    sets("zero_buffers", |j| j.zero_buffers = true);
    sets("pre_read=1", |j| j.pre_read = true);
    sets("refill_buffers", |j| j.refill_buffers = true);
    sets("buffer_compress_percentage=50", |j| (j.compress_ratio, j.refill_buffers) = (2.0, true));
    sets("refill_buffers=0\nbuffer_compress_percentage=75", |j| j.compress_ratio = 4.0);
    sets("buffer_compress_percentage=100", |j| j.zero_buffers = true);
    sets("buffer_compress_percentage=0", |_| ());
    sets("dedupe_percentage=50", |j| (j.dedup_ratio, j.refill_buffers) = (2.0, true));
    // In fio a whole block repeats.
    sets("dedupe_percentage=80\nbs=64k", |j| {
        (j.bs, j.dedup_unit, j.dedup_ratio, j.refill_buffers) = (65536, 65536, 5.0, true);
    });
    fails("dedupe_percentage=100", "at most 99");
    sets("verify=crc32c", |j| (j.verify, j.refill_buffers) = (Verify::Crc32c, true));
    sets("verify=crc32c-intel\ndo_verify=0", |j| {
        (j.verify, j.do_verify, j.refill_buffers) = (Verify::Crc32c, false, true);
    });
    sets("verify=0", |_| ());
    fails("verify=md5", "use verify=crc32c");
    fails("verify=crc33", "0 for none");
}

#[test]
fn reports() {
    sets("group_reporting", |j| j.group_reporting = true);
    sets("log_avg_msec=100", |j| j.log_interval_ns = 100_000_000);
    sets("log_avg_msec=0", |_| ());
    sets("description=the first, of two\nname=other", |j| {
        j.description = Some("the first, of two".into());
        j.name = "other".into();
    });
}

#[test]
fn ours_stand_in_comments() {
    sets("#iobound: compress_ratio=1.7\n#iobound: dedup_ratio = 3", |j| {
        (j.compress_ratio, j.dedup_ratio) = (1.7, 3.0);
    });
    sets("#iobound: ioengine=auto", |j| j.ioengine = EngineChoice::Auto);
    sets("# iobound: no option", |_| ());
    fails("dedup_unit=8k", "#iobound: dedup_unit=8k");
    fails("#iobound: dedup_unitt=8k", "did you mean 'dedup_unit'?");
    fails("#iobound: dedup_unit=5000", "t.fio:2: job 'job': dedup_unit");
}

#[test]
fn a_section_named_after_a_device_runs_on_it() {
    let file = parse_fio("[/dev/nvme0n1]\nrw=randread", "t.fio", &Options::default()).unwrap();
    assert_eq!(file.jobs[0].filename, [PathBuf::from("/dev/nvme0n1")]);
}

#[test]
fn options_of_the_page_cache_need_direct_or_their_default() {
    sets("invalidate=1", |_| ());
    sets("invalidate=0\ndirect=1", |j| j.direct = true);
    fails("invalidate=0", "t.fio:2: cannot honour");
    sets("fadvise_hint=0\ndirect=1", |j| j.direct = true);
}

/// The rest of the table: ignored options change nothing, refused ones are errors but for the values
/// that ask for nothing.
#[test]
fn every_row_does_what_it_says() {
    for row in option_table() {
        match row.support {
            Support::Honoured => {}
            Support::Ignored => {
                for name in std::iter::once(&row.name).chain(row.aliases) {
                    assert_eq!(read(&format!("{name}=7")), Ok(Job::fio_default()), "{name}");
                }
            }
            Support::Refused { unless, accepted_with_direct } => {
                for value in unless {
                    assert_eq!(
                        read(&format!("{}={value}", row.name)),
                        Ok(Job::fio_default()),
                        "{}",
                        row.name
                    );
                }
                fails(&format!("{}=somevalue", row.name), "cannot honour");
                assert_eq!(read(&format!("{}=somevalue\ndirect=1", row.name)).is_ok(), accepted_with_direct);
            }
        }
    }
}

#[test]
fn the_toml_form_has_the_same_options_with_native_values() {
    let text = r#"
        [[job]]
        name = "all"
        rw = "randrw"
        rwmixread = 70
        bssplit = ["4k/50", "64KiB/50"]
        filename = ["/dev/nvme0n1", "/dev/pci-00:04"]
        cpus_allowed = [0, 2]
        size = "10GB"
        iodepth = 0x20
        runtime = "1.5m"
        time_based = true
        rate_iops = [1000, 500]
        random_distribution = "zipf:1.2"
        compress_ratio = 1.5
        dedup_ratio = 2
        dedup_unit = "8KiB"
        direct = false
        thinktime = 100
        log_avg_msec = 100
        ioengine = "auto"
    "#;
    let jobs = parse_toml(text, "t.toml", &Options::default()).unwrap().jobs;
    let expected = Job {
        name: "all".into(),
        rw: Rw::RandRw,
        rwmixread: 70,
        bs: 65536,
        bssplit: split(&[(4, 50), (64, 50)]),
        filename: vec!["/dev/nvme0n1".into(), "/dev/pci-00:04".into()],
        cpus_allowed: Some(vec![0, 2]),
        size: Some(Extent::Bytes(10_000_000_000)),
        iodepth: 32,
        runtime_ns: Some(90_000_000_000),
        time_based: true,
        rate_iops: PerDirection { read: Some(1000), write: Some(500) },
        random_distribution: Distribution::Zipf { theta: 1.2 },
        compress_ratio: 1.5,
        dedup_ratio: 2.0,
        dedup_unit: 8192,
        direct: false,
        thinktime_ns: 100_000,
        log_interval_ns: 100_000_000,
        ..Job::default()
    };
    assert_eq!(jobs, [expected]);
}

#[test]
fn a_toml_job_says_over_what_global_says() {
    let text = "[global]\nfilename = \"a\"\nbs = \"8k\"\n[[job]]\nname = \"x\"\nfilename = \"b\"\n[[job]]\nname = \"y\"\n";
    let jobs = parse_toml(text, "t.toml", &Options::default()).unwrap().jobs;
    assert_eq!(jobs[0].filename, [PathBuf::from("b")]);
    assert_eq!(jobs[1].filename, [PathBuf::from("a")]);
    assert_eq!(jobs[1], Job { name: "y".into(), bs: 8192, filename: vec!["a".into()], ..Job::default() });
}
