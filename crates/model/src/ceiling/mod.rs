//! The storage roofline: how fast a job could go on a topology, and what binds it.
//!
//! Five kinds of bound, each a rate in operations per second of the job:
//!
//! - volumes: what an operation costs each volume ([`load`]) against the operations and the bytes it
//!   promises;
//! - the machine: what crosses to all volumes together against its cap (a mirrored write crosses twice);
//! - time: depth over the time of an operation (Little's law); a durable write takes its own time;
//! - the generator: what this program was measured to do.
//!
//! The ceiling is the lowest; that one binds.

mod load;
#[cfg(test)]
mod tests;
mod topology;

use iobound_record::{Cap, Ceiling, EngineChoice, Job, Level, SyncMode, units};

use load::{Load, Loads, loads};
pub use topology::{Limits, Node, Topology, TopologyError, operation_bytes};

/// What a job asks of storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Share of reads among its operations, 0 to 1.
    pub read_share: f64,
    /// Bytes of an operation.
    pub bytes: u64,
    /// Operations in flight together.
    pub depth: u64,
    /// Whether operations follow each other on the device.
    pub sequential: bool,
    /// Writes until one must be durable; 0 for never.
    pub writes_per_sync: u32,
}

impl Demand {
    /// What a job asks. Of several block sizes it takes the mean.
    pub fn of(job: &Job) -> Demand {
        let depth = if job.ioengine == EngineChoice::Psync { 1 } else { job.iodepth };
        let every = [job.fsync, job.fdatasync].into_iter().filter(|&n| n > 0).min();
        Demand {
            read_share: job.read_share(),
            bytes: mean_block(job),
            depth: u64::from(depth) * u64::from(job.numjobs),
            sequential: !job.rw.is_random(),
            writes_per_sync: if job.sync == SyncMode::None { every.unwrap_or(0) } else { 1 },
        }
    }
}

fn mean_block(job: &Job) -> u64 {
    match (&job.bssplit, job.bsrange) {
        (Some(shares), _) if !shares.is_empty() => {
            let percent: u128 = shares.iter().map(|share| u128::from(share.percent)).sum();
            let sum: u128 = shares.iter().map(|share| u128::from(share.bs) * u128::from(share.percent)).sum();
            (sum / percent.max(1)) as u64
        }
        (_, Some((from, to))) => from.midpoint(to),
        _ => job.bs,
    }
}

/// One bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// `volume-iops`, `volume-bandwidth`, `instance-iops`, `instance-bandwidth`, `latency` or `generator`.
    pub id: &'static str,
    /// Operations per second of the job that it allows.
    pub iops: f64,
    /// The arithmetic.
    pub why: String,
}

/// Every bound of a job, the binding one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceilings {
    /// Lowest first. Empty when nothing is promised.
    pub bounds: Vec<Bound>,
    /// Bytes of an operation.
    pub bytes: u64,
    /// The ceiling while the machine's burst lasts, where that is another.
    pub burst: Option<Ceiling>,
    /// How long that is at least, a day.
    pub burst_ns_per_day: Option<u64>,
}

impl Ceilings {
    /// The ceiling that always holds; None when nothing is promised.
    pub fn ceiling(&self) -> Option<Ceiling> {
        self.bounds.first().map(|bound| ceiling(bound, self.bytes))
    }
}

fn ceiling(bound: &Bound, bytes: u64) -> Ceiling {
    Ceiling {
        iops: bound.iops,
        bandwidth_bytes_per_s: bound.iops * bytes as f64,
        bound: bound.id.into(),
        why: bound.why.clone(),
    }
}

/// The bounds of `demand` on `topology`; `generator_iops` is what this program can do here.
pub fn ceilings(topology: &Topology, demand: &Demand, generator_iops: Option<f64>) -> Ceilings {
    let loads = loads(&topology.root, demand.bytes, demand.sequential);
    let cost = Cost::new(&loads, demand);
    let mut others = volume_bounds(&topology.root, &cost, demand);
    others.extend(latency_bound(&loads, demand));
    if let Some(iops) = generator_iops {
        let why = format!("{} operations/s measured without a device", units::count(iops));
        others.push(Bound { id: "generator", iops, why });
    }
    let with = |cap: &Cap, word: &str| {
        let mut bounds = others.clone();
        bounds.extend(instance_bounds(cap, word, &cost));
        // Total order: none of these is NaN, since every cost is above 0.
        bounds.sort_by(|a, b| a.iops.total_cmp(&b.iops));
        bounds
    };
    let bounds = with(&topology.sustained, "sustained");
    let burst = topology.burst.and_then(|cap| with(&cap, "burst").into_iter().next());
    let burst = burst.filter(|burst| bounds.first().is_some_and(|bound| burst.iops > bound.iops));
    Ceilings {
        burst: burst.map(|bound| ceiling(&bound, demand.bytes)),
        burst_ns_per_day: topology.burst_ns_per_day,
        bytes: demand.bytes,
        bounds,
    }
}

/// What one operation of the job costs, over reads and writes.
struct Cost<'a> {
    volumes: Vec<Load<'a>>,
    /// Operations of all volumes for one read, one write.
    read_operations: f64,
    write_operations: f64,
    /// Bytes of all volumes for one byte read, one byte written.
    read_bytes: f64,
    write_bytes: f64,
    r: f64,
    w: f64,
    bytes: f64,
}

impl<'a> Cost<'a> {
    fn new(loads: &Loads<'a>, demand: &Demand) -> Self {
        let (r, w) = (demand.read_share, 1.0 - demand.read_share);
        let volumes = loads.read.iter().zip(&loads.write).map(|(read, write)| Load {
            volume: read.volume,
            operations: r * read.operations + w * write.operations,
            bytes: r * read.bytes + w * write.bytes,
        });
        let sum = |loads: &[Load], of: fn(&Load) -> f64| loads.iter().map(of).sum::<f64>();
        let bytes = demand.bytes as f64;
        Cost {
            volumes: volumes.collect(),
            read_operations: sum(&loads.read, |load| load.operations),
            write_operations: sum(&loads.write, |load| load.operations),
            read_bytes: sum(&loads.read, |load| load.bytes) / bytes,
            write_bytes: sum(&loads.write, |load| load.bytes) / bytes,
            r,
            w,
            bytes,
        }
    }

    /// `0.7 + 2 x 0.3`: what the job's operations cost, in words.
    fn words(&self, read: f64, write: f64) -> String {
        let term = |share: f64, cost: f64| match (share, cost) {
            (share, _) if share < 1e-9 => None,
            (share, cost) if (share - 1.0).abs() < 1e-9 => Some(number(cost)),
            (share, cost) if (cost - 1.0).abs() < 1e-9 => Some(number(share)),
            (share, cost) => Some(format!("{} x {}", number(cost), number(share))),
        };
        let terms: Vec<String> = [term(self.r, read), term(self.w, write)].into_iter().flatten().collect();
        match terms.len() {
            1 => terms.join(""),
            _ => format!("({})", terms.join(" + ")),
        }
    }
}

/// A factor as people write it: no zeroes after the point.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The busiest volume's operations and bytes.
fn volume_bounds(root: &Node, cost: &Cost, demand: &Demand) -> Vec<Bound> {
    let mut bounds = Vec::new();
    // A chain's volumes are used one after the other when the job goes through it in order.
    let in_turn = demand.sequential && matches!(root, Node::Array { level: Level::Linear, .. });
    let n = cost.volumes.len() as f64;
    let scale = if in_turn { n } else { 1.0 };
    let lowest = |rate: fn(&Load) -> Option<f64>| {
        let rates = cost.volumes.iter().filter_map(|load| Some((rate(load)? / scale, load)));
        rates.filter(|(rate, _)| rate.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let equal = cost.volumes.windows(2).all(|pair| {
        (pair[0].volume.iops, pair[0].volume.bytes_per_s) == (pair[1].volume.iops, pair[1].volume.bytes_per_s)
    });
    let together = equal && !in_turn;
    if let Some((iops, load)) = lowest(|load| Some(load.volume.iops? as f64 / load.operations)) {
        let each = load.volume.iops.unwrap_or_default() as f64;
        let why = if together {
            let price = cost.words(cost.read_operations, cost.write_operations);
            arithmetic(n, &units::count(each), "operations/s", &price, &units::count(iops))
        } else {
            format!(
                "{} has {} operations/s and is asked {} for each: {}",
                load.volume.name,
                units::count(each),
                number(load.operations * scale),
                units::count(iops)
            )
        };
        bounds.push(Bound { id: "volume-iops", iops, why });
    }
    if let Some((iops, load)) = lowest(|load| Some(load.volume.bytes_per_s? as f64 / load.bytes)) {
        let each = mib(load.volume.bytes_per_s.unwrap_or_default() as f64);
        let total = format!("{} MiB/s", mib(iops * cost.bytes));
        let why = if together {
            arithmetic(n, &each, "MiB/s", &cost.words(cost.read_bytes, cost.write_bytes), &total)
        } else {
            let share = number(load.bytes * scale / cost.bytes);
            format!("{} has {each} MiB/s and takes {share} of each byte: {total}", load.volume.name)
        };
        bounds.push(Bound { id: "volume-bandwidth", iops, why });
    }
    bounds
}

/// `8 x 3,000 operations/s / (0.7 + 2 x 0.3) = 18,462`.
fn arithmetic(n: f64, each: &str, unit: &str, price: &str, result: &str) -> String {
    let left = if n > 1.0 { format!("{n} x {each} {unit}") } else { format!("{each} {unit}") };
    if price == "1" {
        if n > 1.0 { format!("{left} = {result}") } else { left }
    } else {
        format!("{left} / {price} = {result}")
    }
}

fn mib(bytes_per_s: f64) -> String {
    number((bytes_per_s / units::MIB as f64 * 10.0).round() / 10.0)
}

/// What crosses from the machine to its volumes.
fn instance_bounds(cap: &Cap, word: &str, cost: &Cost) -> Vec<Bound> {
    let operations: f64 = cost.volumes.iter().map(|load| load.operations).sum();
    let bytes: f64 = cost.volumes.iter().map(|load| load.bytes).sum();
    let mut bounds = Vec::new();
    if let Some(allowed) = cap.iops {
        let iops = allowed as f64 / operations;
        let price = cost.words(cost.read_operations, cost.write_operations);
        let each = format!("the machine's {word} {}", units::count(allowed as f64));
        let why = arithmetic(1.0, &each, "operations/s", &price, &units::count(iops));
        bounds.push(Bound { id: "instance-iops", iops, why });
    }
    if let Some(allowed) = cap.bandwidth {
        let iops = allowed.0 as f64 / bytes;
        let each = format!("the machine's {word} {}", mib(allowed.0 as f64));
        let total = format!("{} MiB/s", mib(iops * cost.bytes));
        let why = arithmetic(1.0, &each, "MiB/s", &cost.words(cost.read_bytes, cost.write_bytes), &total);
        bounds.push(Bound { id: "instance-bandwidth", iops, why });
    }
    bounds
}

/// Little's law, with the slowest volume's times: an array's operation is done when its last part is.
fn latency_bound(loads: &Loads, demand: &Demand) -> Option<Bound> {
    let slowest = |of: fn(&Limits) -> Option<u64>| {
        loads.read.iter().map(|load| of(load.volume)).reduce(|a, b| Some(a?.max(b?))).flatten()
    };
    let read = slowest(|volume| volume.latency_ns).map(|ns| ns as f64);
    let sync = slowest(|volume| volume.sync_latency_ns).map(|ns| ns as f64);
    // A write that nobody waits to be durable costs no more than a read, as far as is promised.
    let write = match demand.writes_per_sync {
        0 => read,
        every => {
            let others = f64::from(every - 1);
            let plain = if every == 1 { Some(0.0) } else { read };
            sync.zip(plain).map(|(sync, plain)| (sync + others * plain) / f64::from(every))
        }
    };
    let part = |share: f64, time: Option<f64>| if share > 0.0 { time.map(|t| share * t) } else { Some(0.0) };
    let time = part(demand.read_share, read)? + part(1.0 - demand.read_share, write)?;
    (time > 0.0).then(|| {
        let iops = demand.depth as f64 * 1e9 / time;
        let why = format!(
            "{} in flight / {} each = {}",
            demand.depth,
            units::duration(time.round() as u64),
            units::count(iops)
        );
        Bound { id: "latency", iops, why }
    })
}
