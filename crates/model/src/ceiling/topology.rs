//! What lies under a file system, as limits and how they are joined.

use iobound_record::{Cap, Context, Level, VolumeGroup};
use thiserror::Error;

/// A topology: volumes joined by arrays, behind a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// The root of the tree.
    pub root: Node,
    /// What the machine may always move.
    pub sustained: Cap,
    /// What it may move for a while; None where it has no burst.
    pub burst: Option<Cap>,
    /// How long at least, a day, nanoseconds.
    pub burst_ns_per_day: Option<u64>,
}

/// A volume or an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A volume.
    Volume(Limits),
    /// An array.
    Array {
        /// How it spreads.
        level: Level,
        /// What goes to one member before the next, bytes; 0 for levels without.
        chunk_bytes: u64,
        /// What it is made of.
        members: Vec<Node>,
    },
}

impl Node {
    fn take_times(&mut self, read_ns: Option<u64>, sync_ns: Option<u64>) {
        match self {
            Node::Volume(limits) => {
                limits.latency_ns = limits.latency_ns.or(read_ns);
                limits.sync_latency_ns = limits.sync_latency_ns.or(sync_ns);
            }
            Node::Array { members, .. } => {
                members.iter_mut().for_each(|member| member.take_times(read_ns, sync_ns));
            }
        }
    }

    fn take_limits(&mut self, of_each: &Limits) {
        match self {
            Node::Volume(limits) => {
                limits.iops = of_each.iops.or(limits.iops);
                limits.bytes_per_s = of_each.bytes_per_s.or(limits.bytes_per_s);
                limits.latency_ns = of_each.latency_ns.or(limits.latency_ns);
                limits.sync_latency_ns = of_each.sync_latency_ns.or(limits.sync_latency_ns);
                limits.operation_bytes = of_each.operation_bytes.or(limits.operation_bytes);
            }
            Node::Array { members, .. } => members.iter_mut().for_each(|member| member.take_limits(of_each)),
        }
    }
}

/// What one volume promises; None is not known, so no bound.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Limits {
    /// Name.
    pub name: String,
    /// Operations per second.
    pub iops: Option<u64>,
    /// Bytes per second.
    pub bytes_per_s: Option<u64>,
    /// Time of a small read, nanoseconds.
    pub latency_ns: Option<u64>,
    /// Time of a small write made durable, nanoseconds.
    pub sync_latency_ns: Option<u64>,
    /// The size up to which it counts an operation as one: larger ones are split, and sequential smaller
    /// ones merged. None counts them as they come.
    pub operation_bytes: Option<u64>,
}

/// Why a context gives no topology.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TopologyError {
    /// Nothing by that name.
    #[error("'{0}' is no volume, array, mount or role of this context")]
    Unknown(String),
    /// An array that is its own member.
    #[error("array '{0}' is part of itself")]
    Cycle(String),
    /// An array of nothing.
    #[error("array '{0}' has no members")]
    Empty(String),
}

/// The size up to which a kind of volume counts an operation as one.
///
/// EBS: "I/O size is capped at 256 KiB for SSD volumes and 1,024 KiB for HDD volumes"; sequential smaller
/// ones are merged to it (Amazon EBS user guide, "Amazon EBS I/O characteristics and monitoring").
pub fn operation_bytes(kind: &str) -> Option<u64> {
    match kind {
        "gp2" | "gp3" | "io1" | "io2" => Some(256 << 10),
        "st1" | "sc1" => Some(1024 << 10),
        _ => None,
    }
}

impl Topology {
    /// What lies under `on`: a volume, an array, a mount point, or the role `data` or `wal`.
    ///
    /// # Errors
    /// When the context has nothing by that name, or is no tree. (Validate a context first: other faults
    /// of it are not looked for here.)
    pub fn of(context: &Context, on: &str) -> Result<Topology, TopologyError> {
        let role = |fs: &&iobound_record::FileSystemSpec| {
            fs.mount == on || fs.role.is_some_and(|role| role.name() == on)
        };
        let name = context.filesystems.iter().find(role).map_or(on, |fs| fs.on.as_str());
        let mut roots = nodes(context, name, &mut Vec::new())?;
        let root = match roots.len() {
            1 => roots.remove(0),
            _ => return Err(TopologyError::Unknown(on.into())),
        };
        Ok(Topology {
            root,
            sustained: context.instance.sustained.unwrap_or_default(),
            burst: context.instance.burst,
            burst_ns_per_day: context.instance.burst_per_day.map(|time| time.0),
        })
    }

    /// The same with times that were measured, nanoseconds, for volumes that promise none: of a small read,
    /// and of a small write made durable.
    #[must_use]
    pub fn with_times(mut self, read_ns: Option<u64>, sync_ns: Option<u64>) -> Topology {
        self.root.take_times(read_ns, sync_ns);
        self
    }

    /// The same with what each of its volumes promises; what `of_each` leaves open stays.
    #[must_use]
    pub fn with_limits(mut self, of_each: &Limits) -> Topology {
        self.root.take_limits(of_each);
        self
    }

    /// An array of `count` equal volumes, or one volume, on a machine without caps.
    pub fn uniform(level: Option<Level>, chunk_bytes: u64, count: u32, limits: &Limits) -> Topology {
        let root = match level {
            Some(level) => {
                let members = vec![Node::Volume(limits.clone()); count as usize];
                Node::Array { level, chunk_bytes, members }
            }
            None => Node::Volume(limits.clone()),
        };
        Topology { root, sustained: Cap::default(), burst: None, burst_ns_per_day: None }
    }
}

/// The nodes that a name stands for: a group of volumes is several.
fn nodes(context: &Context, name: &str, within: &mut Vec<String>) -> Result<Vec<Node>, TopologyError> {
    if let Some(array) = context.arrays.iter().find(|array| array.name == name) {
        if within.iter().any(|outer| outer == name) {
            return Err(TopologyError::Cycle(name.into()));
        }
        within.push(name.into());
        let mut members = Vec::new();
        for member in &array.members {
            members.extend(nodes(context, member, within)?);
        }
        within.pop();
        if members.is_empty() {
            return Err(TopologyError::Empty(name.into()));
        }
        let chunk_bytes = array.chunk.map_or(0, |chunk| chunk.0);
        return Ok(vec![Node::Array { level: array.level, chunk_bytes, members }]);
    }
    for group in &context.volumes {
        let names = group.volume_names();
        if group.name == name {
            return Ok(names.into_iter().map(|name| Node::Volume(limits(group, name))).collect());
        }
        if names.iter().any(|volume| volume == name) {
            return Ok(vec![Node::Volume(limits(group, name.into()))]);
        }
    }
    Err(TopologyError::Unknown(name.into()))
}

fn limits(group: &VolumeGroup, name: String) -> Limits {
    Limits {
        name,
        iops: group.iops,
        bytes_per_s: group.bandwidth.map(|bandwidth| bandwidth.0),
        latency_ns: group.latency.map(|time| time.0),
        sync_latency_ns: group.sync_latency.map(|time| time.0),
        operation_bytes: operation_bytes(&group.kind),
    }
}
