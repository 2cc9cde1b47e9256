//! `iobound prepare`: set a host up as a context says.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use iobound_host::ProbeOptions;
use iobound_host::prepare::{Journal, LiveMachine, Machine, Planner, PrepareError, apply, undo};
use iobound_record::{Context, Plan, Probe};

use super::print;
use crate::contexts;
use crate::exit::{self, Failure};
use crate::prepare::{ContextPlanner, Standing, context_hash, named, plan_text, status, status_text, told};
use crate::stop::Stop;

#[derive(Parser, Debug)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Show every command with what is and what will be; change nothing
    Plan(PlanArgs),
    /// Do what is left to do, verify each step, and journal it
    Apply(ChangeArgs),
    /// Bring everything back as it was before apply
    Undo(ChangeArgs),
    /// Show what is applied, what drifted since, and what is left to do
    Status(StatusArgs),
}

#[derive(Parser, Debug)]
struct Common {
    /// Hardware context
    #[arg(long, value_name = "FILE")]
    context: String,
    /// Ask no cloud's metadata service what machine this is
    #[arg(long)]
    offline: bool,
    /// Where the journal is kept
    #[arg(long, value_name = "DIR", default_value = STATE_DIR)]
    state_dir: PathBuf,
}

#[derive(Parser, Debug)]
struct PlanArgs {
    #[command(flatten)]
    common: Common,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Write it as numbered shell scripts into DIR
    #[arg(long, value_name = "DIR")]
    script: Option<PathBuf>,
    /// Show what would be done with this disk given up
    #[arg(long, value_name = "DISK")]
    destroy_data: Vec<String>,
}

#[derive(Parser, Debug)]
struct ChangeArgs {
    #[command(flatten)]
    common: Common,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Lose everything on this disk (a /dev path or a serial number); give it once for each. It never
    /// stands for a disk in use
    #[arg(long, value_name = "DISK")]
    destroy_data: Vec<String>,
}

#[derive(Parser, Debug)]
struct StatusArgs {
    #[command(flatten)]
    common: Common,
    /// As JSON
    #[arg(long)]
    json: bool,
}

const STATE_DIR: &str = "/var/lib/iobound/prepare";

pub fn run(args: &Args) -> Result<u8, Failure> {
    match &args.what {
        What::Plan(args) => show_plan(args),
        What::Apply(args) => do_apply(args),
        What::Undo(args) => do_undo(args),
        What::Status(args) => show_status(args),
    }
}

/// Everything that the commands have in common.
struct Here {
    machine: LiveMachine,
    planner: ContextPlanner,
    probe: Probe,
    hash: String,
}

impl Here {
    fn new(common: &Common, destroy: &[String]) -> Result<Self, Failure> {
        let context = load(&common.context)?;
        // Only a context that names a cloud has anything to compare its answer with.
        let offline =
            common.offline || (context.instance.cloud.is_empty() && context.instance.name.is_empty());
        let machine = LiveMachine::new(ProbeOptions { offline, ..ProbeOptions::default() });
        let probe = machine.probe().map_err(|error| Failure::broke(error.to_string()))?;
        let named = named(destroy, &probe).map_err(Failure::usage)?;
        let hash = context_hash(&context);
        Ok(Here { machine, planner: ContextPlanner { context, named }, probe, hash })
    }

    fn plan(&self) -> Plan {
        let ground = self.machine.ground(&self.planner.interests(&self.probe));
        self.planner.plan(&self.probe, &ground)
    }

    fn name(&self) -> &str {
        &self.planner.context.name
    }

    fn journal(&self, common: &Common) -> Result<Journal, Failure> {
        Journal::open(&common.state_dir, &self.probe.machine.machine_id).map_err(refused)
    }
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure { code: exit::REFUSED, words: error.to_string() }
}

/// Reads a context: a file, or one that comes with the program by its name. A file may be about the
/// operating system alone; what else it lacks the plan says.
fn load(path: &str) -> Result<Context, Failure> {
    if !Path::new(path).exists() {
        return contexts::load(path);
    }
    let text = fs::read_to_string(path).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    toml::from_str(&text).map_err(|error| Failure::usage(format!("{path}: {error}")))
}

/// Exit code of a plan: refused ones protect data; those without a single step are no context at all.
fn code_of(plan: &Plan) -> u8 {
    match (plan.may_be_applied(), plan.steps.is_empty()) {
        (true, _) => exit::DONE,
        (false, true) => exit::USAGE,
        (false, false) => exit::REFUSED,
    }
}

fn show_plan(args: &PlanArgs) -> Result<u8, Failure> {
    let here = Here::new(&args.common, &args.destroy_data)?;
    let plan = here.plan();
    if args.json {
        let text = serde_json::to_string_pretty(&plan).map_err(|error| Failure::broke(error.to_string()))?;
        print(&format!("{text}\n"));
    } else {
        here.planner.named.iter().for_each(|disk| print(&format!("given up: {}\n", disk.told())));
        print(&plan_text(&plan));
    }
    if let Some(dir) = &args.script {
        let ground = here.machine.ground(&here.planner.interests(&here.probe));
        let input = iobound_model::prepare::Input {
            context: &here.planner.context,
            probe: &here.probe,
            ground: &ground,
            destroy: &[],
        };
        write_scripts(dir, &iobound_model::prepare::scripts(&input))?;
        eprintln!("iobound: scripts are in {}; read them, then run them in their order", dir.display());
    }
    Ok(code_of(&plan))
}

fn write_scripts(dir: &Path, scripts: &std::collections::BTreeMap<String, String>) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |path: &Path, error: io::Error| Failure::usage(format!("{}: {error}", path.display()));
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    for name in scripts.keys() {
        let path = dir.join(name);
        match fs::read_to_string(&path) {
            Ok(text) if !text.contains(iobound_model::prepare::MARK) => {
                return Err(Failure::usage(format!(
                    "{} is there already and not from iobound: name another directory",
                    path.display()
                )));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(&path, error)),
            _ => {}
        }
    }
    for (name, text) in scripts {
        let path = dir.join(name);
        fs::write(&path, text).map_err(|error| failed(&path, error))?;
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// What changing a host needs: root, and a machine-id to journal under.
fn may_change(verb: &str, here: &Here) -> Result<(), Failure> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::usage(format!(
            "prepare {verb} needs root: it runs mdadm, LVM, mkfs and mount, and writes below /etc, /proc/sys and \
             /sys. Run it with sudo; `prepare plan` works without"
        )));
    }
    if here.probe.machine.machine_id.is_empty() {
        return Err(Failure::usage(
            "this host has no /etc/machine-id, by which a journal is told from another host's: \
             systemd-machine-id-setup makes one",
        ));
    }
    Ok(())
}

/// Asks once, on a terminal; without one only `--yes` will do.
fn agreed(args: &ChangeArgs, question: &str) -> Result<(), Failure> {
    if args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(refused("nobody can be asked here, since there is no terminal: give --yes to go on"));
    }
    eprint!("{question} [y/N] ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    match (read, answer.trim()) {
        (Ok(_), "y" | "Y" | "yes") => Ok(()),
        _ => Err(refused("nothing was changed")),
    }
}

fn do_apply(args: &ChangeArgs) -> Result<u8, Failure> {
    let here = Here::new(&args.common, &args.destroy_data)?;
    may_change("apply", &here)?;
    let mut journal = here.journal(&args.common)?;
    let plan = here.plan();
    let was_cut_short = journal.entries().iter().any(|e| e.state != iobound_host::prepare::EntryState::Done);
    // What an earlier run left in the middle may look like somebody else's data until it is taken back.
    if !plan.may_be_applied() && !was_cut_short {
        print(&plan_text(&plan));
        return Ok(code_of(&plan));
    }
    if plan.is_done() && !was_cut_short {
        print("already so: nothing to do\n");
        return Ok(exit::DONE);
    }
    print(&plan_text(&plan));
    here.planner.named.iter().for_each(|disk| print(&format!("given up: {}\n", disk.told())));
    agreed(args, "Do this?")?;
    let stop = Stop::on_signals().map_err(|error| Failure::broke(error.to_string()))?;
    let context = (here.name(), here.hash.as_str());
    let mut tell = |event| print(&format!("{}\n", told(&event)));
    match apply(&here.machine, &here.planner, &mut journal, context, &|| stop.is_asked(), &mut tell) {
        Ok(applied) => {
            let (done, already, out) = (applied.done.len(), applied.already.len(), applied.skipped.len());
            print(&format!("applied: {done} done, {already} already so, {out} left out\n"));
            Ok(exit::DONE)
        }
        Err(PrepareError::Refused { plan }) => {
            print(&plan_text(&plan));
            Ok(code_of(&plan))
        }
        Err(error @ PrepareError::Journal(_)) => Err(refused(error)),
        Err(error) => Err(Failure::broke(error)),
    }
}

fn do_undo(args: &ChangeArgs) -> Result<u8, Failure> {
    let here = Here::new(&args.common, &args.destroy_data)?;
    may_change("undo", &here)?;
    let mut journal = here.journal(&args.common)?;
    journal.is_for(here.name()).map_err(refused)?;
    if journal.entries().is_empty() {
        print("nothing is applied here: nothing to undo\n");
        return Ok(exit::DONE);
    }
    for entry in journal.entries().iter().rev() {
        print(&format!("to undo    {}\n", entry.title));
    }
    here.planner.named.iter().for_each(|disk| print(&format!("given up: {}\n", disk.told())));
    agreed(args, "Undo this?")?;
    let stop = Stop::on_signals().map_err(|error| Failure::broke(error.to_string()))?;
    let mut tell = |event| print(&format!("{}\n", told(&event)));
    match undo(&here.machine, &here.planner, &mut journal, &|| stop.is_asked(), &mut tell) {
        Ok(undone) => {
            for (title, why) in &undone.refused {
                print(&format!("kept       {title}: {why}\n"));
            }
            print(&format!("undone: {}; kept: {}\n", undone.done.len(), undone.refused.len()));
            Ok(if undone.refused.is_empty() { exit::DONE } else { exit::REFUSED })
        }
        Err(error @ PrepareError::Journal(_)) => Err(refused(error)),
        Err(error) => Err(Failure::broke(error)),
    }
}

fn show_status(args: &StatusArgs) -> Result<u8, Failure> {
    let here = Here::new(&args.common, &[])?;
    let journal = Journal::read(&args.common.state_dir, &here.probe.machine.machine_id).map_err(refused)?;
    let plan = here.plan();
    let all = status(&plan, journal.entries());
    if args.json {
        let text = serde_json::to_string_pretty(&all).map_err(|error| Failure::broke(error.to_string()))?;
        print(&format!("{text}\n"));
    } else {
        print(&status_text(&all));
        plan.problems.iter().for_each(|problem| print(&format!("problem: {problem}\n")));
    }
    let is_good = |standing| !matches!(standing, Standing::Drifted | Standing::CutShort);
    Ok(if all.iter().all(|step| is_good(step.standing)) { exit::DONE } else { exit::FAILED })
}
