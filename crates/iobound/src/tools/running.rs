//! A program that does not outlive its caller, nor do the processes it starts.
//!
//! A process group is not enough: fio gives each of its jobs a session of its own, so killing the
//! group leaves the jobs writing. So the children are looked up in `/proc` while the program
//! runs, each remembered with its start time, so that a number used again is never mistaken for it.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

/// How often the children are looked up: a scan of `/proc` is not free beside a measurement.
const LOOK: Duration = Duration::from_secs(1);
/// How long a killed process may take to go: one in an uninterruptible wait is left to the kernel.
const REAP: Duration = Duration::from_secs(2);

/// A program and the processes it started; dropping this kills them all.
pub(crate) struct Running {
    child: Child,
    pid: Pid,
    children: Vec<Process>,
    looked: Option<Instant>,
    ended: bool,
}

/// A process, told from a later one of the same number by when it started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Process {
    pid: Pid,
    /// Clock ticks since boot.
    started: u64,
}

impl Running {
    /// Starts `command` in a process group of its own, so that a terminal's Ctrl-C reaches it only
    /// through [`Running::interrupt`].
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Running> {
        let child = command.process_group(0).spawn()?;
        Ok(Running { pid: Pid::from_child(&child), child, children: Vec::new(), looked: None, ended: false })
    }

    /// Whether the program itself has ended. It is not collected yet, so its number and its group
    /// stay its own. To be called every now and then: it also keeps the list of children.
    ///
    /// # Errors
    /// The kernel does not know the child any more.
    pub(crate) fn has_ended(&mut self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = match waitid(WaitId::Pid(self.pid), options) {
            Ok(status) => status.is_some(),
            Err(rustix::io::Errno::INTR) => false,
            Err(error) => return Err(error.into()),
        };
        if !ended && self.looked.is_none_or(|last| last.elapsed() >= LOOK) {
            self.look();
        }
        Ok(ended)
    }

    /// SIGINT to the program alone: it tells its children as it sees fit.
    pub(crate) fn interrupt(&self) {
        // It may have ended since it was looked at; then there is nobody to tell.
        let _ = kill_process(self.pid, Signal::INT);
    }

    /// Kills whatever still runs, and collects the program's status.
    ///
    /// # Errors
    /// It does not go even when killed, or cannot be waited for.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        // Stopped, it starts no more children while they are counted.
        let _ = kill_process(self.pid, Signal::STOP);
        self.look();
        // Before the wait: afterwards the number could be another group's.
        let _ = kill_process_group(self.pid, Signal::KILL);
        for process in &self.children {
            if Process::read(process.pid).is_some_and(|(now, _)| now == *process) {
                let _ = kill_process(process.pid, Signal::KILL);
            }
        }
        self.ended = true;
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if started.elapsed() > REAP {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "it was killed but hangs in the kernel, most likely on a device that does not answer",
                ));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Remembers the children there are now, and their children.
    fn look(&mut self) {
        self.looked = Some(Instant::now());
        let Ok(entries) = fs::read_dir("/proc") else { return };
        let all: Vec<(Process, Pid)> = entries
            .flatten()
            .filter_map(|entry| Process::read(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?))
            .collect();
        // One whose parent is gone is known from an earlier look.
        self.children.retain(|known| all.iter().any(|(process, _)| process == known));
        loop {
            let before = self.children.len();
            for (process, parent) in &all {
                let ours = *parent == self.pid || self.children.iter().any(|known| known.pid == *parent);
                if ours && !self.children.contains(process) {
                    self.children.push(*process);
                }
            }
            if self.children.len() == before {
                return;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.end();
        }
    }
}

impl Process {
    /// A process and its parent, from `/proc/PID/stat`; None when it is gone or has no parent here.
    fn read(pid: Pid) -> Option<(Process, Pid)> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        let (parent, started) = parent_and_start(&stat)?;
        Some((Process { pid, started }, Pid::from_raw(parent)?))
    }
}

/// Fields 4 and 22 of `stat`; the name, field 2, may hold blanks and brackets.
fn parent_and_start(stat: &str) -> Option<(i32, u64)> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some((parent, started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_past_any_name() {
        let stat = "7 (a) b (c)) S 3 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        assert_eq!(parent_and_start(stat), Some((3, 98_765)));
        assert_eq!(parent_and_start("7 (x) S"), None);
        let me = Pid::from_raw(std::process::id() as i32).unwrap();
        assert!(Process::read(me).is_some_and(|(process, _)| process.pid == me && process.started > 0));
    }

    #[test]
    fn children_in_sessions_of_their_own_go_too_even_when_the_parent_died_first() {
        let mut running = Running::start(
            Command::new("sh").args(["-c", "setsid sleep 300 & setsid sh -c 'sleep 300; :' & wait"]),
        )
        .unwrap();
        // The inner shell's own child is a grandchild.
        let deadline = Instant::now() + Duration::from_secs(20);
        while running.children.len() < 3 {
            assert!(Instant::now() < deadline, "{:?}", running.children);
            assert!(!running.has_ended().unwrap());
            running.looked = None;
            thread::sleep(Duration::from_millis(10));
        }
        let children = running.children.clone();
        kill_process(running.pid, Signal::KILL).unwrap();
        while !running.has_ended().unwrap() {
            thread::sleep(Duration::from_millis(10));
        }
        running.end().unwrap();
        for child in children {
            let gone = || {
                let stat = fs::read_to_string(format!("/proc/{}/stat", child.pid.as_raw_nonzero()));
                stat.map_or(true, |stat| {
                    stat.contains(") Z ") || parent_and_start(&stat).unwrap().1 != child.started
                })
            };
            while !gone() {
                assert!(Instant::now() < deadline, "{child:?} still runs");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }
}
