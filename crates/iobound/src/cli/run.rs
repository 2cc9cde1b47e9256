//! `iobound run`: the quick suite, or the jobs of a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use iobound_jobfile::{JobFile, Machine, Options, Strictness, read_file};
use iobound_model::statistics::TOLERANCE_LEAST;
use iobound_record::{EngineChoice, Extent, Run, SCHEMA_VERSION, Severity, Target, units};

use crate::contexts;
use crate::exit::{self, Failure};
use crate::fio_engine::ForFio;
use crate::fresh;
use crate::preflight;
use crate::progress::Progress;
use crate::report::fio_json::to_fio_json;
use crate::report::terminal::{Look, locale_is_utf8, render_short, render_with};
use crate::session::{Rights, Session};
use crate::settling::INTERVAL_NS;
use crate::stop::Stop;
use crate::store::{Store, write_whole};
use crate::suites::{self, AskedAxes, Group, Placed, Places, QUICK_FILE, Suite, SuiteScenario, WORKING_SET};
use crate::tools::dd;
use crate::verdict::{self, FailOn};

/// Longest lay-out of the quick suite's working set: what a person waits for before the first figure.
const LAYOUT_LONGEST: Duration = Duration::from_secs(8);
/// Share of the free space that the quick suite takes at most.
const FREE_SHARE: u64 = 4;

/// Options of `iobound run`.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// A suite (quick, database, sweep, dd, sequential, etcd, or a file of one) or a job file, fio's or
    /// TOML; without it, the quick suite
    #[arg(value_name = "SUITE|JOBFILE")]
    what: Option<String>,
    /// Directory to measure, or where job files without a directory make theirs [default: the current one,
    /// where no WAL volume is asked for]
    #[arg(long, value_name = "PATH")]
    data: Option<PathBuf>,
    /// Directory on the WAL volume, for suites that have one
    #[arg(long, value_name = "PATH")]
    wal: Option<PathBuf>,
    /// Run only these scenarios of a suite, by number: 1,3
    #[arg(long, value_name = "N", value_delimiter = ',')]
    scenario: Vec<u32>,
    /// Depths of a sweep: 1,8,32
    #[arg(long, value_name = "N", value_delimiter = ',')]
    depth: Vec<u32>,
    /// Dedup ratios of a sweep's data: 1,2
    #[arg(long, value_name = "RATIO", value_delimiter = ',')]
    dedup: Vec<f64>,
    /// Compress ratios of a sweep's data: 1,2
    #[arg(long, value_name = "RATIO", value_delimiter = ',')]
    compress: Vec<f64>,
    /// Who issues the I/O: auto, io_uring, libaio, psync, null, or the real fio or dd
    #[arg(long, value_name = "ENGINE", value_parser = parse_engine)]
    engine: Option<EngineChoice>,
    /// Directory for run.json [default: ./iobound-<time>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write the results as fio's --output-format=json would
    #[arg(long, value_name = "FILE")]
    fio_json: Option<PathBuf>,
    /// Print the equivalent fio command of every job and stop
    #[arg(long)]
    print_fio: bool,
    /// Measure each job this long
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration_ns)]
    runtime: Option<u64>,
    /// Working set of each job
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    size: Option<u64>,
    /// Length of an interval of the recorded series, for example 100ms [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration_ns)]
    interval: Option<u64>,
    /// End each job when its figure is known to 2%, or to what is given; its runtime is the longest
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, require_equals = true,
          default_missing_value = "2%", value_parser = parse_tolerance)]
    until_steady: Option<f64>,
    /// Allow writing to existing files that iobound did not make
    #[arg(long)]
    overwrite: bool,
    /// Allow destroying what is on this block device; once for each device
    #[arg(long, value_name = "DEVICE")]
    destroy_data: Vec<PathBuf>,
    /// Leave the files that the run makes
    #[arg(long)]
    keep_files: bool,
    /// Hold the host against this hardware context, and keep it in the record: a name or a file
    #[arg(long, value_name = "CONTEXT")]
    context: Option<String>,
    /// Do not start when a check of the host fails
    #[arg(long)]
    require_check: bool,
    /// Ask something of a scenario: 1:iops=540,latency=2ms,p99=3ms (also bandwidth, p99_9); once for each
    #[arg(long, value_name = "N:FIGURE=VALUE,..", value_parser = verdict::parse_target)]
    target: Vec<(u32, Target)>,
    /// Exit with 1 on any of these: short, above, unknown, warning, note, target, unfit, unfit:NAME, or 90%
    /// (of the ceiling)
    #[arg(long, value_name = "VERDICT", value_delimiter = ',', value_parser = FailOn::parse)]
    fail_on: Vec<FailOn>,
    /// Show nothing while running
    #[arg(long, short)]
    quiet: bool,
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim_end_matches('%').trim().parse().ok();
    percent
        .map(|percent| percent / 100.0)
        .filter(|share| (TOLERANCE_LEAST..=0.5).contains(share))
        .ok_or_else(|| format!("give percent from {}% to 50%", 100.0 * TOLERANCE_LEAST))
}

fn parse_engine(text: &str) -> Result<EngineChoice, String> {
    use EngineChoice::{Auto, Dd, Fio, IoUring, Libaio, Null, Psync};
    [Auto, IoUring, Libaio, Psync, Null, Fio, Dd]
        .into_iter()
        .find(|engine| engine.as_str() == text)
        .ok_or_else(|| "use auto, io_uring, libaio, psync, null, fio or dd".into())
}

/// What is to be run.
enum Plan {
    Quick(PathBuf),
    Suite(Box<Suite>, Vec<Placed>),
    File(JobFile, String),
}

/// Runs, prints, and returns the exit code.
///
/// # Errors
/// Bad usage, a refusal, or a run that broke.
pub fn run(args: Args) -> Result<u8, Failure> {
    if args.until_steady.is_some()
        && let Some(program @ (EngineChoice::Fio | EngineChoice::Dd)) = args.engine
    {
        return Err(Failure::usage(format!(
            "--until-steady watches our own engines, and {program} is a program of its own; leave one of them out"
        )));
    }
    let plan = plan(&args)?;
    if args.print_fio {
        return print_fio(&args, &plan);
    }
    if matches!(plan, Plan::Quick(_)) && args.engine == Some(EngineChoice::Null) {
        return Err(Failure::usage(
            "the null engine measures no storage; 'iobound calibrate' gives its figures",
        ));
    }
    let context = args.context.as_deref().map(contexts::load).transpose()?;
    let stop = Stop::on_signals().map_err(Failure::broke)?;
    let progress = Progress::new(args.quiet);
    let checks = preflight::before_run(&places(&args, &plan), context.as_ref(), || stop.is_asked());
    if args.require_check {
        preflight::require(&checks)?;
    }
    render_short(&checks).iter().for_each(|words| progress.say(words));
    let id = fresh::run_id();
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("iobound-{id}")));
    let store = Store::new(&out)?;
    let record = store.record();
    let calibration = iobound_engine::calibrate_quickly()?;
    let mut run = new_run(id, &plan);
    run.calibration = Some(calibration);
    (run.context, run.checks) = (context, checks);
    let rights = Rights {
        overwrite: args.overwrite,
        destroy_data: args.destroy_data.clone(),
        keep_files: args.keep_files,
    };
    let mut session = Session::new(run, &rights, stop, progress, Some(store));
    if let Plan::Suite(suite, _) = &plan {
        session.pause = Duration::from_nanos(suite.pause.0);
    }
    session.until_steady = args.until_steady;
    let done = groups(&args, plan, &mut session).and_then(|groups| session.run_groups(groups));
    let cleaned = session.clean_up();
    verdict::judge(&mut session.run);
    session.save()?;
    let mut files = vec![record];
    if let Some(path) = &args.fio_json {
        let text = serde_json::to_string_pretty(&to_fio_json(&session.run)).map_err(Failure::broke)?;
        write_whole(path, &(text + "\n"))?;
        files.push(path.clone());
    }
    if session.run.scenarios.iter().any(|scenario| scenario.measurement.is_some()) {
        super::print(&render_with(&session.run, look(), &files));
        super::print(&format!(
            "More of it, as a page and in files: iobound report {0} --out {0}\n",
            out.display()
        ));
    } else {
        // A run without a result leaves no directory that looks like one.
        let _ = std::fs::remove_file(out.join(crate::sampling::SAMPLES));
        let _ = std::fs::remove_file(out.join(crate::store::RECORD)).and_then(|()| std::fs::remove_dir(&out));
    }
    done?;
    cleaned?;
    if session.run.interrupted {
        let measured = session.run.scenarios.iter().filter(|scenario| scenario.measurement.is_some()).count();
        eprintln!("iobound: interrupted; {measured} jobs have a result");
    }
    failed_operations(&session.run);
    Ok(exit_code(&session.run).max(failed_on(&args.fail_on, &session.run)))
}

/// Says why the run fails by what `--fail-on` names; the exit code that this makes.
pub(super) fn failed_on(asked: &[FailOn], run: &Run) -> u8 {
    let reasons: Vec<String> = asked.iter().filter_map(|fail_on| fail_on.reason(run)).collect();
    reasons.iter().for_each(|reason| eprintln!("iobound: --fail-on: {reason}"));
    if reasons.is_empty() { exit::DONE } else { exit::FAILED }
}

/// Says on the error stream, too, what failed: a script that keeps only that must not miss it.
pub(super) fn failed_operations(run: &Run) {
    for scenario in &run.scenarios {
        let kinds = scenario.measurement.iter().flat_map(|measurement| &measurement.error_kinds);
        for (words, count) in kinds {
            let targets: Vec<String> = iobound_engine::paths_of(&scenario.job)
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            eprintln!("iobound: {}: {}: {count} x {words}", scenario.name, targets.join(", "));
        }
    }
}

/// Interrupted or failed operations: the run broke. Numbers that do not stand: a check failed.
pub(super) fn exit_code(run: &Run) -> u8 {
    let failed_io = run.findings.iter().any(|finding| finding.id == "io-errors");
    if run.interrupted || failed_io {
        exit::BROKE
    } else if run.findings.iter().any(|finding| finding.severity == Severity::Error) {
        exit::FAILED
    } else {
        exit::DONE
    }
}

fn plan(args: &Args) -> Result<Plan, Failure> {
    let data = args.data.clone().unwrap_or_else(|| PathBuf::from("."));
    let what = args.what.as_deref().unwrap_or("quick");
    if what == "quick" {
        no_axes(args, what)?;
        if args.engine == Some(EngineChoice::Dd) {
            return Err(Failure::usage(
                "dd cannot do the quick suite, which has many operations in flight; use 'iobound run dd --engine dd'",
            ));
        }
        return Ok(Plan::Quick(data));
    }
    if let Some(text) = suites::shipped(what) {
        return placed(args, Suite::parse(text, what)?);
    }
    let fio = args.engine == Some(EngineChoice::Fio);
    let env = |name: &str| std::env::var(name).ok();
    let options = Options {
        strictness: if fio { Strictness::PassThrough } else { Strictness::Strict },
        env: &env,
        machine: machine(),
        fresh_seed: fresh::seed(),
        ..Options::default()
    };
    let path = Path::new(what);
    if !path.exists() {
        let cause = format!("'{what}' is neither a suite nor a job file that exists");
        return Err(Failure::usage(format!(
            "{cause}; the suites are {}, or give the path of a fio or TOML job file or of a suite",
            suites::names()
        )));
    }
    if path.extension().is_some_and(|extension| extension == "toml")
        && let Some(text) = Suite::text_of(path)
    {
        return placed(args, Suite::parse(&text, what)?);
    }
    no_axes(args, what)?;
    let file = read_file(path, &options).map_err(Failure::usage)?;
    if file.jobs.is_empty() {
        return Err(Failure::usage(format!(
            "{what}: there is no job in it; add a [section], or [[job]] in TOML"
        )));
    }
    if args.engine == Some(EngineChoice::Dd)
        && let Some(job) = file.jobs.iter().find(|job| job.size.is_some() && !dd::cannot(job).is_empty())
    {
        let why = dd::cannot(job).join("; ");
        return Err(Failure::usage(format!("{what}: dd cannot do job '{}': {why}", job.name)));
    }
    Ok(Plan::File(file, what.to_owned()))
}

fn no_axes(args: &Args, what: &str) -> Result<(), Failure> {
    if axes(args).any() {
        return Err(Failure::usage(format!(
            "--depth, --dedup and --compress are axes of a sweep, and '{what}' is none; use 'iobound run sweep'"
        )));
    }
    Ok(())
}

/// The scenarios that the engine can do: of a whole suite dd does what it can, and the rest is said.
fn for_engine(args: &Args, scenarios: Vec<SuiteScenario>) -> Result<Vec<SuiteScenario>, Failure> {
    if args.engine != Some(EngineChoice::Dd) {
        return Ok(scenarios);
    }
    let (can, cannot): (Vec<_>, Vec<_>) =
        scenarios.into_iter().partition(|scenario| dd::cannot(&scenario.job).is_empty());
    let why: Vec<String> = cannot
        .iter()
        .map(|scenario| {
            format!("{} ({}): {}", scenario.id, scenario.name, dd::cannot(&scenario.job).join("; "))
        })
        .collect();
    if can.is_empty() || (!args.scenario.is_empty() && !why.is_empty()) {
        return Err(Failure::usage(format!("dd cannot do scenario {}", why.join("; nor "))));
    }
    if !args.quiet {
        why.iter().for_each(|why| eprintln!("note: left out, for dd cannot do it: {why}"));
    }
    Ok(can)
}

fn axes(args: &Args) -> AskedAxes {
    AskedAxes { depth: args.depth.clone(), dedup: args.dedup.clone(), compress: args.compress.clone() }
}

/// A suite with the scenarios that are asked for, each in its volume's directory.
fn placed(args: &Args, mut suite: Suite) -> Result<Plan, Failure> {
    suite.ask(&axes(args))?;
    let scenarios = suite.scenarios(&args.scenario)?;
    let one_volume = scenarios.iter().all(|scenario| scenario.volume == "data");
    let here = (one_volume && args.wal.is_none()).then_some(Path::new("."));
    let places = Places {
        data: args.data.as_deref().or(here),
        wal: args.wal.as_deref(),
        size: args.size,
        runtime_ns: args.runtime,
    };
    let placed = places.place(for_engine(args, scenarios)?)?;
    Ok(Plan::Suite(Box::new(suite), placed))
}

/// The steps of the plan; the quick suite's working set is made on the way.
fn groups(args: &Args, plan: Plan, session: &mut Session) -> Result<Vec<Group>, Failure> {
    let mut groups = match plan {
        Plan::Quick(directory) => {
            let (path, sizes) = quick_target(&directory, args.size)?;
            let size = session.make_working_set(&path, sizes, LAYOUT_LONGEST)?;
            let mut groups = suites::quick(&path, size, args.runtime);
            // Where direct I/O is refused the suite says so once, instead of failing each job.
            adjust(args, &mut groups, None);
            groups
        }
        Plan::Suite(_, placed) => {
            for (file, size) in suites::files_of(&placed) {
                session.make_working_set(file, (size, size), Duration::MAX)?;
            }
            let mut groups: Vec<Group> =
                placed.iter().map(|placed| placed.scenario.step(&placed.file)).collect();
            adjust(args, &mut groups, None);
            groups
        }
        Plan::File(file, _) => {
            let kept = file.kept.clone();
            let mut groups = suites::from_jobs(file.jobs);
            adjust(args, &mut groups, Some(kept));
            groups
        }
    };
    for (id, target) in &args.target {
        let Some(step) = groups.iter_mut().flatten().find(|step| step.id == *id) else {
            return Err(Failure::usage(format!("--target {id}: no scenario of this run has that number")));
        };
        step.about.target = Some(*target);
    }
    for job in groups.iter_mut().flatten().map(|step| &mut step.job) {
        if args.until_steady.is_some() {
            job.log_interval_ns = job.log_interval_ns.min(INTERVAL_NS);
        }
        job.log_interval_ns = args.interval.unwrap_or(job.log_interval_ns);
    }
    Ok(groups)
}

/// Where the plan's I/O will go.
fn places(args: &Args, plan: &Plan) -> Vec<PathBuf> {
    match plan {
        Plan::Quick(directory) => vec![directory.clone()],
        Plan::Suite(_, placed) => {
            let mut places: Vec<PathBuf> =
                placed.iter().filter_map(|placed| Some(placed.file.parent()?.into())).collect();
            places.dedup();
            places
        }
        Plan::File(file, _) => {
            let mut groups = suites::from_jobs(file.jobs.clone());
            adjust(args, &mut groups, Some(file.kept.clone()));
            preflight::places_of(&groups)
        }
    }
}

/// Where the quick suite's file goes, and how large it may be.
fn quick_target(directory: &Path, size: Option<u64>) -> Result<(PathBuf, (u64, u64)), Failure> {
    let directory = directory.canonicalize().map_err(|error| {
        Failure::usage(format!("{}: {error}; name an existing directory with --data", directory.display()))
    })?;
    if !directory.is_dir() {
        let words =
            "the quick suite measures a directory; for a file or device write a job file with filename=";
        return Err(Failure::usage(format!("{}: is not a directory; {words}", directory.display())));
    }
    let path = directory.join(QUICK_FILE);
    if let Some(size) = size {
        if size < 4 * units::MIB {
            return Err(Failure::usage(format!(
                "--size {} is below 4 MiB, four blocks of the suite; use more",
                units::bytes(size)
            )));
        }
        let size = size / units::MIB * units::MIB;
        return Ok((path, (size, size)));
    }
    let free = iobound_host::guard::free_space(&directory).map_err(Failure::usage)?.available_bytes;
    let (least, most) = WORKING_SET;
    let most = most.min(free / FREE_SHARE).max(least) / units::MIB * units::MIB;
    Ok((path, (least, most)))
}

/// Puts the command line's wishes over what the jobs say.
fn adjust(args: &Args, groups: &mut [Group], kept: Option<Vec<Vec<iobound_jobfile::Kept>>>) {
    let from_file = kept.is_some();
    for step in groups.iter_mut().flatten() {
        let job = &mut step.job;
        if let Some(engine) = args.engine {
            if engine == EngineChoice::Fio {
                let kept = kept.as_ref().and_then(|kept| kept.get(step.id as usize - 1)).cloned();
                step.for_fio = Some(ForFio { engine: job.ioengine, kept: kept.unwrap_or_default() });
            }
            job.ioengine = engine;
        }
        if !from_file {
            continue;
        }
        if let Some(data) = &args.data
            && job.directory.is_none()
        {
            job.directory = Some(data.clone());
        }
        if let Some(size) = args.size {
            job.size = Some(Extent::Bytes(size));
        }
        if let Some(runtime) = args.runtime {
            job.runtime_ns = Some(runtime);
            job.time_based = true;
        }
    }
}

fn print_fio(args: &Args, plan: &Plan) -> Result<u8, Failure> {
    let mut groups = match plan {
        Plan::Quick(directory) => {
            let (path, (_, most)) = quick_target(directory, args.size)?;
            suites::quick(&path, most, args.runtime)
        }
        Plan::Suite(_, placed) => placed.iter().map(|placed| placed.scenario.step(&placed.file)).collect(),
        Plan::File(file, _) => suites::from_jobs(file.jobs.clone()),
    };
    let kept = if let Plan::File(file, _) = plan { Some(file.kept.clone()) } else { None };
    let without_engine = args.engine.filter(|engine| !matches!(engine, EngineChoice::Fio | EngineChoice::Dd));
    adjust(&Args { engine: without_engine, ..args.clone() }, &mut groups, kept.clone());
    let mut text = String::new();
    for step in groups.into_iter().flatten() {
        let kept = kept.as_ref().and_then(|kept| kept.get(step.id as usize - 1)).cloned().unwrap_or_default();
        let file = JobFile { jobs: vec![step.job], kept: vec![kept] };
        for printed in file.fio_commands() {
            printed.notes.iter().for_each(|note| eprintln!("note: {note}"));
            text += &printed.text;
            text.push('\n');
        }
    }
    super::print(&text);
    Ok(exit::DONE)
}

fn new_run(id: String, plan: &Plan) -> Run {
    let suite = match plan {
        Plan::Quick(_) => "quick".into(),
        Plan::Suite(suite, _) => suite.name.clone(),
        Plan::File(_, name) => name.clone(),
    };
    Run {
        schema: SCHEMA_VERSION,
        iobound: env!("CARGO_PKG_VERSION").into(),
        id,
        started: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        suite,
        command: std::env::args().collect(),
        host: iobound_host::host_facts(&iobound_host::System::live()),
        context: None,
        checks: Vec::new(),
        calibration: None,
        scenarios: Vec::new(),
        samples: None,
        findings: Vec::new(),
        conclusions: Vec::new(),
        interrupted: false,
        ..Run::default()
    }
}

fn machine() -> Option<Machine> {
    let info = rustix::system::sysinfo();
    Some(Machine {
        page_bytes: rustix::param::page_size() as u64,
        memory_mib: (info.totalram as u64).saturating_mul(u64::from(info.mem_unit)) >> 20,
        cpus: std::thread::available_parallelism().map_or(1, usize::from) as u64,
    })
}

/// The terminal's width and colours; a file or pipe gets 100 columns and none.
pub(super) fn look() -> Look {
    use std::io::IsTerminal;
    let out = std::io::stdout();
    let terminal = out.is_terminal();
    let width = rustix::termios::tcgetwinsize(&out)
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|&width| width > 0);
    Look {
        width: width.unwrap_or(100),
        colour: terminal && std::env::var_os("NO_COLOR").is_none(),
        unicode: locale_is_utf8(),
    }
}
