//! The other side: takes acknowledgements from the network and keeps them.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::ack::{Hello, Line, Lines};
use super::ack_sink::open_log;
use super::promises::Promises;
use super::say;
use super::tally::Tally;
use crate::exit::{self, Failure};
use crate::stop::Stop;

/// How often the writer hears what is here, and the log is synced.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// How long a connection may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections at once; more are turned away.
const CONNECTIONS_MAX: usize = 64;
/// How often a waiting thread looks whether all is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is asked.
pub struct Wish {
    /// `ADDRESS:PORT` to listen on.
    pub listen: String,
    /// The log.
    pub log: PathBuf,
    /// End with the first run.
    pub once: bool,
    /// Show nothing while running.
    pub quiet: bool,
}

/// What the connections share.
struct Server<'a> {
    log: &'a Path,
    known: Mutex<BTreeSet<u64>>,
    writing: Mutex<()>,
    received: AtomicU64,
    connected: AtomicUsize,
    ended: AtomicUsize,
    stop: &'a Stop,
}

/// Why a connection is over.
enum Over {
    /// The writer said so.
    Ended(&'static str),
    /// The writer is gone: perhaps the power cut.
    Gone(String),
    /// It is no writer, or not one that can be served.
    Refused(String),
}

/// Serves until it is stopped, and returns the exit code.
///
/// # Errors
/// The address or the log cannot be had.
pub fn serve(wish: &Wish, stop: &Stop) -> Result<u8, Failure> {
    let listener = TcpListener::bind(&wish.listen).map_err(|error| {
        Failure::usage(format!("--listen {}: {error}; give ADDRESS:PORT, such as 0.0.0.0:7400", wish.listen))
    })?;
    let address = listener.local_addr().and_then(|address| listener.set_nonblocking(true).map(|()| address));
    let address = address.map_err(Failure::broke)?;
    File::options().append(true).create(true).open(&wish.log).map_err(|error| {
        Failure::usage(format!("--log {}: {error}; name a file that can be written", wish.log.display()))
    })?;
    say(&format!("listening on {address}, log {}", wish.log.display()));
    let server = Server {
        log: &wish.log,
        known: Mutex::default(),
        writing: Mutex::default(),
        received: AtomicU64::new(0),
        connected: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        stop,
    };
    let mut tally = Tally::new(wish.quiet);
    std::thread::scope(|scope| {
        let is_over = || stop.is_asked() || (wish.once && server.ended.load(Ordering::SeqCst) > 0);
        while !is_over() {
            tally.show(server.received.load(Ordering::Relaxed), "acknowledgements received");
            match listener.accept() {
                Ok((stream, peer)) => {
                    let server = &server;
                    scope.spawn(move || server.talk(stream, peer));
                }
                // Also what a connection that died in the queue, or too many files, give.
                Err(_) => std::thread::sleep(LOOK_EVERY),
            }
        }
    });
    drop(tally);
    say(&format!("{} acknowledgements are in {}", server.received.into_inner(), wish.log.display()));
    Ok(exit::DONE)
}

impl Server<'_> {
    /// One connection, to its end.
    fn talk(&self, mut stream: TcpStream, peer: SocketAddr) {
        let others = self.connected.fetch_add(1, Ordering::SeqCst);
        let mut run = None;
        let over = if others >= CONNECTIONS_MAX {
            Over::Refused(format!("{CONNECTIONS_MAX} connections are open already"))
        } else {
            self.receive(&mut stream, peer, &mut run).unwrap_or_else(|error| Over::Gone(error.to_string()))
        };
        let counted = run.as_ref().map_or_else(String::new, |run: &Promises| {
            format!("run {:016x}: {} acknowledgements; ", run.hello.run, run.acks)
        });
        match over {
            Over::Ended(why) => eprintln!("{peer}: {counted}it ended: {why}"),
            Over::Gone(why) => eprintln!("{peer}: {counted}the connection is gone: {why}"),
            Over::Refused(why) => {
                let _ = stream.write_all(format!("refused {why}\n").as_bytes());
                eprintln!("{peer}: {counted}refused: {why}");
            }
        }
        self.ended.fetch_add(usize::from(run.is_some()), Ordering::SeqCst);
        self.connected.fetch_sub(1, Ordering::SeqCst);
    }

    fn receive(
        &self,
        stream: &mut TcpStream,
        peer: SocketAddr,
        run: &mut Option<Promises>,
    ) -> io::Result<Over> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (mut lines, mut piece) = (Lines::default(), vec![0; 1 << 16]);
        let mut log: Option<File> = None;
        let (started, mut reported) = (Instant::now(), Instant::now());
        loop {
            let length = match stream.read(&mut piece) {
                Ok(0) => {
                    return Ok(Over::Gone("it was closed without a last line".into()));
                }
                Ok(length) => length,
                Err(error) if is_early(&error) => 0,
                Err(error) => return Err(error),
            };
            let (mut text, mut over) = (String::new(), None);
            lines.take(&piece[..length], |bytes| {
                if over.is_none() {
                    over = self.line(bytes, peer, run, &mut text).err();
                }
            });
            if let (None, Some(promises)) = (&log, &*run) {
                log = Some(self.begin(&promises.hello)?);
                stream.write_all(format!("welcome {:016x}\n", promises.hello.run).as_bytes())?;
            }
            if let Some(log) = &mut log {
                let _alone = locked(&self.writing);
                log.write_all(text.as_bytes())
                    .map_err(|error| io::Error::other(format!("the log: {error}")))?;
            }
            let report = reported.elapsed() >= REPORT_EVERY || over.is_some();
            if let (true, Some(log), Some(promises)) = (report, &log, &*run) {
                reported = Instant::now();
                log.sync_data()?;
                stream.write_all(format!("have {}\n", promises.acks).as_bytes())?;
            }
            if let Some(over) = over {
                return Ok(over);
            }
            if run.is_none() && started.elapsed() > PATIENCE {
                return Ok(Over::Refused("it did not say what it is".into()));
            }
            if self.stop.is_asked() {
                return Ok(Over::Refused("this side was stopped".into()));
            }
        }
    }

    /// Takes a line in; what is to be kept of it goes to `text`.
    fn line(
        &self,
        bytes: &[u8],
        peer: SocketAddr,
        run: &mut Option<Promises>,
        text: &mut String,
    ) -> Result<(), Over> {
        let line =
            Line::parse(bytes).map_err(|error| Over::Refused(format!("a line cannot be used: {error}")))?;
        let Some(promises) = run else {
            let Line::Hello(hello) = line else {
                return Err(Over::Refused("its first line does not begin a run".into()));
            };
            // What it acknowledged in between is not known here, and the cut may be behind it.
            if !locked(&self.known).insert(hello.run) {
                return Err(Over::Refused(format!(
                    "run {:016x} was here before and cannot be continued; start a new one",
                    hello.run
                )));
            }
            eprintln!("{peer}: run {:016x} on {}", hello.run, hello.target);
            *run = Some(Promises::of(*hello));
            return Ok(());
        };
        if line.run() != promises.hello.run || !promises.take(&line) {
            return Err(Over::Refused("a line contradicts its run".into()));
        }
        *text += &line.text();
        match line {
            Line::End { why, .. } => return Err(Over::Ended(why.word())),
            Line::Ack { .. } => drop(self.received.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
        Ok(())
    }

    fn begin(&self, hello: &Hello) -> io::Result<File> {
        let _alone = locked(&self.writing);
        open_log(self.log, &Line::Hello(Box::new(hello.clone())))
            .map_err(|error| io::Error::other(format!("the log: {error}")))
    }
}

fn is_early(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
