//! `job options`: a job in fio's own words.

use iobound_record::{Distribution, EngineChoice, Extent, Fallocate, Job, SyncMode, Verify, units};

/// The options of a job as fio's JSON gives them, all text. `name`, `rw`, `bs`, `iodepth`,
/// `numjobs` and `direct` are always there (fio-plot needs four of them); the others where they
/// say something else than fio's default. `engine` is the one that ran.
pub fn job_options(job: &Job, engine: EngineChoice) -> Vec<(&'static str, String)> {
    let mut options = Options(vec![
        ("name", job.name.clone()),
        ("rw", job.rw.to_string()),
        ("bs", units::bytes_fio(job.bs)),
        ("iodepth", job.iodepth.to_string()),
        ("numjobs", job.numjobs.to_string()),
        ("direct", flag(job.direct)),
    ]);
    workload(job, engine, &mut options);
    targets(job, &mut options);
    times_and_rates(job, &mut options);
    durability_and_data(job, &mut options);
    options.0
}

struct Options(Vec<(&'static str, String)>);

impl Options {
    fn add(&mut self, key: &'static str, value: Option<String>) {
        self.0.extend(value.map(|value| (key, value)));
    }

    /// Adds it only where `said`.
    fn when(&mut self, said: bool, key: &'static str, value: impl ToString) {
        self.add(key, said.then(|| value.to_string()));
    }
}

/// Whether it is one engine, and has fio's word for it.
fn is_ours(engine: EngineChoice) -> bool {
    !matches!(engine, EngineChoice::Auto | EngineChoice::Fio | EngineChoice::Dd | EngineChoice::Object)
}

fn workload(job: &Job, engine: EngineChoice, options: &mut Options) {
    let ran = if is_ours(engine) { engine } else { job.ioengine };
    options.when(is_ours(ran), "ioengine", ran);
    options.when(job.rw.is_mixed(), "rwmixread", job.rwmixread);
    let size = units::bytes_fio;
    options.add("bsrange", job.bsrange.map(|(min, max)| format!("{}-{}", size(min), size(max))));
    options.add(
        "bssplit",
        job.bssplit.as_ref().map(|split| {
            let shares = split.iter().map(|share| format!("{}/{}", size(share.bs), share.percent));
            shares.collect::<Vec<_>>().join(":")
        }),
    );
    options.when(job.iodepth_batch > 0, "iodepth_batch", job.iodepth_batch);
    options.when(job.group_reporting, "group_reporting", 1);
    options.when(job.stonewall, "stonewall", 1);
    options.when(job.norandommap, "norandommap", 1);
    options.add(
        "random_distribution",
        match job.random_distribution {
            Distribution::Random => None,
            Distribution::Zipf { theta } => Some(format!("zipf:{theta}")),
            Distribution::Pareto { h } => Some(format!("pareto:{h}")),
            Distribution::Normal { deviation } => Some(format!("normal:{deviation}")),
        },
    );
    options.when(true, "randseed", job.randseed);
    options.add(
        "cpus_allowed",
        job.cpus_allowed.as_ref().map(|cpus| cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
    );
}

fn targets(job: &Job, options: &mut Options) {
    let names: Vec<String> =
        // A colon parts names in fio, so one within a name is escaped.
        job.filename.iter().map(|path| path.display().to_string().replace(':', "\\:")).collect();
    options.when(!names.is_empty(), "filename", names.join(":"));
    options.add("directory", job.directory.as_ref().map(|path| path.display().to_string()));
    options.when(job.nrfiles != 1, "nrfiles", job.nrfiles);
    options.add("size", job.size.map(extent));
    options.add("io_size", job.io_size.map(units::bytes_fio));
    options.add("offset", job.offset.map(extent));
    options.add("offset_increment", job.offset_increment.map(extent));
    options.add("number_ios", job.number_ios.map(|ios| ios.to_string()));
    options.when(job.loops != 1, "loops", job.loops);
}

fn times_and_rates(job: &Job, options: &mut Options) {
    options.add("runtime", job.runtime_ns.map(time));
    options.when(job.time_based, "time_based", 1);
    options.when(job.ramp_time_ns > 0, "ramp_time", time(job.ramp_time_ns));
    options.when(job.startdelay_ns > 0, "startdelay", time(job.startdelay_ns));
    options.when(job.thinktime_ns > 0, "thinktime", time(job.thinktime_ns));
    options.when(job.thinktime_ns > 0, "thinktime_blocks", job.thinktime_blocks);
    for (key, rate) in [("rate", job.rate), ("rate_iops", job.rate_iops)] {
        let one = |rate: Option<u64>| rate.map(|rate| rate.to_string()).unwrap_or_default();
        options.when(
            rate.read.or(rate.write).is_some(),
            key,
            format!("{},{}", one(rate.read), one(rate.write)),
        );
    }
}

fn durability_and_data(job: &Job, options: &mut Options) {
    options.add(
        "sync",
        match job.sync {
            SyncMode::None => None,
            SyncMode::Sync => Some("sync".into()),
            SyncMode::Dsync => Some("dsync".into()),
        },
    );
    options.when(job.fsync > 0, "fsync", job.fsync);
    options.when(job.fdatasync > 0, "fdatasync", job.fdatasync);
    options.when(job.end_fsync, "end_fsync", 1);
    options.add(
        "fallocate",
        match job.fallocate {
            Fallocate::Native => None,
            Fallocate::Truncate => Some("truncate".into()),
            Fallocate::None => Some("none".into()),
        },
    );
    options.when(job.overwrite, "overwrite", 1);
    options.when(job.refill_buffers, "refill_buffers", 1);
    options.when(job.zero_buffers, "zero_buffers", 1);
    // A ratio of 3 means that two thirds of the data can go.
    let percent = |ratio: f64| ((1.0 - 1.0 / ratio) * 100.0).round();
    options.when(job.compress_ratio > 1.0, "buffer_compress_percentage", percent(job.compress_ratio));
    options.when(job.dedup_ratio > 1.0, "dedupe_percentage", percent(job.dedup_ratio));
    options.when(job.verify == Verify::Crc32c, "verify", "crc32c");
    options.when(job.verify == Verify::Crc32c && !job.do_verify, "do_verify", 0);
}

fn flag(on: bool) -> String {
    u8::from(on).to_string()
}

fn extent(extent: Extent) -> String {
    match extent {
        Extent::Bytes(bytes) => units::bytes_fio(bytes),
        Extent::Percent(percent) => format!("{percent}%"),
    }
}

/// A time with its unit: fio takes a bare number as seconds in one option and microseconds in another.
fn time(ns: u64) -> String {
    for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if ns.is_multiple_of(unit) {
            return format!("{}{name}", ns / unit);
        }
    }
    // fio has no nanoseconds; rounded up, so that a short time does not become none.
    format!("{}us", ns.div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iobound_record::{PerDirection, Rw};

    #[test]
    fn a_job_reads_as_fio_would_have_been_told() {
        let job = Job {
            name: "mixed".into(),
            rw: Rw::RandRw,
            rwmixread: 70,
            bs: 8192,
            iodepth: 64,
            numjobs: 4,
            size: Some(Extent::Bytes(4 << 30)),
            offset: Some(Extent::Percent(10)),
            filename: vec!["/data/a:b".into(), "/data/c".into()],
            runtime_ns: Some(60_000_000_000),
            time_based: true,
            ramp_time_ns: 1_500_000_000,
            fdatasync: 1,
            compress_ratio: 3.0,
            rate_iops: PerDirection { read: Some(100), write: None },
            ..Job::default()
        };
        let options = job_options(&job, EngineChoice::IoUring);
        for (key, value) in [
            ("name", "mixed"),
            ("rw", "randrw"),
            ("rwmixread", "70"),
            ("bs", "8k"),
            ("iodepth", "64"),
            ("numjobs", "4"),
            ("size", "4g"),
            ("offset", "10%"),
            ("filename", "/data/a\\:b:/data/c"),
            ("runtime", "60s"),
            ("ramp_time", "1500ms"),
            ("fdatasync", "1"),
            ("ioengine", "io_uring"),
            ("buffer_compress_percentage", "67"),
            ("rate_iops", "100,"),
            ("direct", "1"),
        ] {
            assert!(options.contains(&(key, value.to_owned())), "{key}={value} in {options:?}");
        }
        assert!(!options.iter().any(|(key, _)| *key == "dedupe_percentage"));
    }
}
