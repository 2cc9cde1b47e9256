//! Where I/O goes: files, sizes, processors.

use std::path::{Path, PathBuf};

use iobound_record::{Extent, Fallocate, Job, SyncMode, units};

use super::value::Fault;
use super::{Action, OptionSpec, Origin, no_word, nothing, shown, shown_if};
use crate::draft::has_path;
use crate::limits::{CPU_MAX, FILE_NAMES_BYTES_MAX, FILES_MAX};

pub(super) static OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "name",
        aliases: &[],
        origin: Origin::Fio,
        why: "name of the job, instead of its section's",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.name = value.text("randread")?.to_owned();
                Ok(())
            },
            show: no_word,
            exact: nothing,
        },
    },
    OptionSpec {
        name: "description",
        aliases: &[],
        origin: Origin::Fio,
        why: "what the job is for, in a sentence",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.description = Some(value.text("what it is for")?.to_owned());
                Ok(())
            },
            show: |job| shown(job.description.as_ref()?),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "filename",
        aliases: &[],
        origin: Origin::Fio,
        why: "files or devices, PATH:PATH...; '\\:' is a colon of a path; given again, fio adds to the list",
        action: Action::Honoured {
            set: |draft, value| {
                let paths = value.paths("/dev/nvme1n1")?;
                let files = &mut draft.job.filename;
                // fio keeps the files of [global] and of earlier lines; the TOML form replaces them.
                if !value.dialect.is_fio() {
                    files.clear();
                }
                add_files(files, paths)?;
                Ok(())
            },
            show: |job| shown_if(!job.filename.is_empty(), path_list(&fio_files(job))),
            exact: |job| (fio_files(job) != job.filename).then(|| path_list(&job.filename)),
        },
    },
    OptionSpec {
        name: "directory",
        aliases: &[],
        origin: Origin::Fio,
        why: "where files are made whose name has no path",
        action: Action::Honoured {
            set: |draft, value| {
                let mut paths = value.paths("/mnt/data")?;
                if paths.len() > 1 {
                    let why = "jobs are not dealt out to directories; give one, or one job for each";
                    return Err(Fault::Cannot(why.into()));
                }
                draft.job.directory = paths.pop();
                draft.directory_from_fio = value.dialect.is_fio();
                Ok(())
            },
            show: |job| {
                let directory = job.directory.as_ref()?;
                shown_if(!some_have_path(job), path_list(std::slice::from_ref(directory)))
            },
            exact: |job| {
                let directory = job.directory.as_ref()?;
                some_have_path(job).then(|| path_list(std::slice::from_ref(directory)))
            },
        },
    },
    OptionSpec {
        name: "nrfiles",
        aliases: &["nr_files"],
        origin: Origin::Fio,
        why: "files per thread where filename is not given",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.nrfiles = value.count("4")?;
                Ok(())
            },
            show: |job| shown_if(job.nrfiles != 1, job.nrfiles),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "size",
        aliases: &[],
        origin: Origin::Fio,
        why: "working set of a thread: bytes in all its files, or a percentage of them",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.size = non_zero(value.extent("1g")?);
                Ok(())
            },
            show: |job| shown(extent_fio(job.size?)),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "filesize",
        aliases: &[],
        origin: Origin::Fio,
        why: "size of each file, where size is not given",
        action: Action::Honoured {
            set: |draft, value| {
                if value.text("1g")?.contains(['-', ',', ':']) {
                    return Err(Fault::Cannot("files of one job have one size; give one".into()));
                }
                draft.filesize = Some(value.bytes("1g")?).filter(|&bytes| bytes > 0);
                Ok(())
            },
            show: no_word,
            exact: nothing,
        },
    },
    OptionSpec {
        name: "io_size",
        aliases: &["io_limit"],
        origin: Origin::Fio,
        why: "bytes to move per loop, if not size",
        action: Action::Honoured {
            set: |draft, value| {
                if value.text("1g")?.ends_with('%') {
                    return Err(Fault::Cannot("a percentage is not read here; give bytes".into()));
                }
                let bytes = value.bytes("1g")?;
                draft.job.io_size = Some(bytes).filter(|&bytes| bytes > 0 || !value.dialect.is_fio());
                Ok(())
            },
            show: |job| shown(units::bytes_fio(job.io_size?)),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "offset",
        aliases: &["fileoffset"],
        origin: Origin::Fio,
        why: "start of the working set, bytes or a percentage",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.offset = Some(value.extent("1g")?);
                Ok(())
            },
            show: |job| shown(extent_fio(job.offset?)),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "offset_increment",
        aliases: &[],
        origin: Origin::Fio,
        why: "thread k starts at offset + k times this",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.offset_increment = Some(value.extent("1g")?);
                Ok(())
            },
            show: |job| shown(extent_fio(job.offset_increment?)),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "direct",
        aliases: &[],
        origin: Origin::Fio,
        why: "bypass the page cache (O_DIRECT)",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.direct = value.flag()?;
                Ok(())
            },
            show: |job| shown(u8::from(job.direct)),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "pre_read",
        aliases: &[],
        origin: Origin::Fio,
        why: "read the working set into the page cache before a buffered job",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.pre_read = value.flag()?;
                Ok(())
            },
            show: |job| shown_if(job.pre_read, 1),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "buffered",
        aliases: &[],
        origin: Origin::Fio,
        why: "go through the page cache: the opposite of direct",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.direct = !value.flag()?;
                Ok(())
            },
            show: no_word,
            exact: nothing,
        },
    },
    OptionSpec {
        name: "sync",
        aliases: &[],
        origin: Origin::Fio,
        why: "open flags: none (0), sync (1, O_SYNC), dsync (O_DSYNC)",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.sync = match value.text.unwrap_or("1") {
                    "none" | "0" => SyncMode::None,
                    "sync" | "1" => SyncMode::Sync,
                    "dsync" => SyncMode::Dsync,
                    "" => return Err(Fault::Missing("dsync")),
                    _ => return Err(Fault::Bad("use none, sync or dsync".into())),
                };
                Ok(())
            },
            show: |job| match job.sync {
                SyncMode::None => None,
                // fio before 3.27 knows 0 and 1 only.
                SyncMode::Sync => shown(1),
                SyncMode::Dsync => shown("dsync"),
            },
            exact: nothing,
        },
    },
    OptionSpec {
        name: "fallocate",
        aliases: &[],
        origin: Origin::Fio,
        why: "how a new file gets its space: native (posix), truncate, none",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.fallocate = match value.text("native")? {
                    "none" | "0" => Fallocate::None,
                    // posix_fallocate(3) is fallocate(2) wherever the file system has it.
                    "native" | "posix" | "1" => Fallocate::Native,
                    "truncate" => Fallocate::Truncate,
                    "keep" => {
                        return Err(Fault::Cannot(
                            "space past the end of a file is not reserved; use native".into(),
                        ));
                    }
                    _ => return Err(Fault::Bad("use native, truncate or none".into())),
                };
                Ok(())
            },
            show: |job| match job.fallocate {
                Fallocate::Native => None,
                Fallocate::Truncate => shown("truncate"),
                Fallocate::None => shown("none"),
            },
            exact: nothing,
        },
    },
    OptionSpec {
        name: "overwrite",
        aliases: &[],
        origin: Origin::Fio,
        why: "lay a new file out with data before writing, so that writes overwrite",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.overwrite = value.flag()?;
                Ok(())
            },
            show: |job| shown_if(job.overwrite, 1),
            exact: nothing,
        },
    },
    OptionSpec {
        name: "cpus_allowed",
        aliases: &[],
        origin: Origin::Fio,
        why: "processors the threads may use, LIST as 0-3,5",
        action: Action::Honoured {
            set: |draft, value| {
                draft.job.cpus_allowed = Some(cpu_list(value.text("0-3")?)?);
                Ok(())
            },
            show: |job| {
                let cpus = job.cpus_allowed.as_ref()?;
                shown_if(!cpus.is_empty(), cpu_text(cpus))
            },
            exact: nothing,
        },
    },
    OptionSpec {
        name: "cpumask",
        aliases: &[],
        origin: Origin::Fio,
        why: "processors the threads may use, as a bit mask",
        action: Action::Honoured {
            set: |draft, value| {
                let mask = value.bytes("0xf")?;
                if mask == 0 {
                    return Err(Fault::Bad("it allows no processor".into()));
                }
                draft.job.cpus_allowed = Some((0..64).filter(|cpu| mask >> cpu & 1 == 1).collect());
                Ok(())
            },
            show: no_word,
            exact: nothing,
        },
    },
];

fn extent_fio(extent: Extent) -> String {
    match extent {
        Extent::Bytes(bytes) => units::bytes_fio(bytes),
        Extent::Percent(percent) => format!("{percent}%"),
    }
}

/// fio's `size=0` is the size of what is there, as if nothing were said.
fn non_zero(extent: Extent) -> Option<Extent> {
    Some(extent).filter(|&extent| extent != Extent::Bytes(0))
}

/// Paths with colons between them; a colon of a path is escaped.
fn path_list(paths: &[PathBuf]) -> String {
    let escaped: Vec<String> = paths.iter().map(|path| path.to_string_lossy().replace(':', "\\:")).collect();
    escaped.join(":")
}

/// Whether `directory` is for some of the files only: fio puts every file below it.
fn some_have_path(job: &Job) -> bool {
    job.filename.iter().any(|file| has_path(file))
}

/// The files as fio must be told: where some have a path, `directory` is written into the others.
fn fio_files(job: &Job) -> Vec<PathBuf> {
    let Some(directory) = job.directory.as_ref().filter(|_| some_have_path(job)) else {
        return job.filename.clone();
    };
    let place = |file: &PathBuf| if has_path(file) { file.clone() } else { Path::new(directory).join(file) };
    job.filename.iter().map(place).collect()
}

/// Adds the files that are not there yet.
fn add_files(files: &mut Vec<PathBuf>, paths: Vec<PathBuf>) -> Result<(), Fault> {
    let mut bytes: usize = files.iter().map(|file| file.as_os_str().len()).sum();
    for path in paths {
        if files.iter().any(|file| file.as_os_str() == path.as_os_str()) {
            continue;
        }
        bytes += path.as_os_str().len();
        if files.len() == FILES_MAX || bytes > FILE_NAMES_BYTES_MAX {
            let limit = FILE_NAMES_BYTES_MAX >> 10;
            return Err(Fault::Bad(format!("more than {FILES_MAX} files, or {limit} KiB of names")));
        }
        files.push(path);
    }
    Ok(())
}

/// Reads `0-3,5`; sorted, each once.
fn cpu_list(text: &str) -> Result<Vec<u32>, Fault> {
    let number = |part: &str| match part.trim().parse::<u32>() {
        Ok(cpu) if cpu <= CPU_MAX => Ok(cpu),
        _ => Err(Fault::Bad("write processor numbers, for example 0-3,5".into())),
    };
    // A mark for each, so that ranges repeated without end cost no memory.
    let mut allowed = vec![false; CPU_MAX as usize + 1];
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(Fault::Bad(format!("{first}-{last} counts down")));
        }
        allowed[first as usize..=last as usize].fill(true);
    }
    let cpus: Vec<u32> = (0..=CPU_MAX).filter(|&cpu| allowed[cpu as usize]).collect();
    if cpus.is_empty() { Err(Fault::Missing("0-3")) } else { Ok(cpus) }
}

/// Writes sorted or unsorted processors as `0-3,5`.
fn cpu_text(cpus: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let texts: Vec<String> = ranges
        .iter()
        .map(|&(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    texts.join(",")
}
