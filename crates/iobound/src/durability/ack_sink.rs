//! Where a writer's acknowledgements go: a file on another volume, or another machine.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::ack::{Hello, Line};
use crate::exit::Failure;

/// How long the other side may be silent; it says something every second.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How often a log in a file is synced: what is younger may be missing after the cut, and is then
/// simply not promised.
const SYNC_EVERY: Duration = Duration::from_millis(20);

/// A place for acknowledgements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `HOST:PORT`, where `iobound durability serve` listens.
    Server(String),
    /// A file.
    File(PathBuf),
}

impl Place {
    /// `HOST:PORT`, if it ends in a colon and a port and has no slash; else a file.
    pub fn of(text: &str) -> Place {
        let is_server = text.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty() && port.parse::<u16>().is_ok() && !text.contains('/')
        });
        if is_server { Place::Server(text.into()) } else { Place::File(text.into()) }
    }
}

/// What the two directions share.
#[derive(Default)]
struct Shared {
    /// Acknowledgements that the other side said it has.
    received: AtomicU64,
    ending: AtomicBool,
    gone: Mutex<Option<String>>,
}

impl Shared {
    fn lose(&self, why: String) {
        let mut gone = self.gone.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        gone.get_or_insert(why);
    }
}

/// An open place.
pub struct AckSink {
    out: Mutex<Out>,
    shared: Arc<Shared>,
    task: Option<JoinHandle<()>>,
    name: String,
}

enum Out {
    File(File),
    Server(TcpStream),
}

impl AckSink {
    /// Opens the place and gives it the run's first line.
    ///
    /// # Errors
    /// It cannot be had, or the other side refuses.
    pub fn open(place: &Place, hello: &Hello) -> Result<AckSink, Failure> {
        match place {
            Place::File(path) => Self::file(path, hello),
            Place::Server(address) => Self::server(address, hello),
        }
    }

    fn file(path: &Path, hello: &Hello) -> Result<AckSink, Failure> {
        let failed = |error: io::Error| {
            Failure::usage(format!(
                "--acks {}: {error}; name a file that can be written, or HOST:PORT",
                path.display()
            ))
        };
        let file = open_log(path, &Line::Hello(Box::new(hello.clone()))).map_err(failed)?;
        let (shared, copy) = (Arc::new(Shared::default()), file.try_clone().map_err(failed)?);
        let task = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || keep_synced(&copy, &shared)
        });
        Ok(AckSink {
            out: Mutex::new(Out::File(file)),
            shared,
            task: Some(task),
            name: path.display().to_string(),
        })
    }

    fn server(address: &str, hello: &Hello) -> Result<AckSink, Failure> {
        let failed = |error: io::Error| {
            let remedy = "start 'iobound durability serve --listen ADDRESS --log FILE' there first";
            Failure::usage(format!("--acks {address}: {error}; {remedy}"))
        };
        let mut stream = connect(address).map_err(failed)?;
        stream.write_all(Line::Hello(Box::new(hello.clone())).text().as_bytes()).map_err(failed)?;
        let mut reader = BufReader::new(stream.try_clone().map_err(failed)?);
        let mut answer = String::new();
        reader.read_line(&mut answer).map_err(failed)?;
        match answer.trim_end().split_once(' ') {
            Some(("welcome", _)) => {}
            Some(("refused", why)) => {
                return Err(Failure::usage(format!("--acks {address}: the other side refuses: {why}")));
            }
            _ => {
                return Err(Failure::usage(format!(
                    "--acks {address}: what answers there is no 'iobound durability serve'"
                )));
            }
        }
        let shared = Arc::new(Shared::default());
        let task = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || listen(reader, &shared)
        });
        Ok(AckSink { out: Mutex::new(Out::Server(stream)), shared, task: Some(task), name: address.into() })
    }

    /// Whether this very machine is the other side.
    pub fn is_this_machine(&self) -> bool {
        let out = self.out.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*out {
            Out::File(_) => false,
            Out::Server(stream) => match (stream.peer_addr(), stream.local_addr()) {
                (Ok(peer), Ok(local)) => peer.ip() == local.ip(),
                _ => false,
            },
        }
    }

    /// Sends a line on its way.
    ///
    /// # Errors
    /// The place is gone.
    pub fn send(&self, line: &Line) -> io::Result<()> {
        let text = line.text();
        let mut out = self.out.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &mut *out {
            Out::File(file) => file.write_all(text.as_bytes()),
            Out::Server(stream) => stream.write_all(text.as_bytes()),
        }
    }

    /// Why the place is gone, if it is.
    pub fn gone(&self) -> Option<String> {
        let gone = self.shared.gone.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        gone.as_ref().map(|why| format!("--acks {}: {why}", self.name))
    }

    /// Sends the last line and waits until it is safe on the other side.
    ///
    /// # Errors
    /// The place is gone.
    pub fn finish(mut self, last: &Line) -> Result<(), String> {
        self.shared.ending.store(true, Ordering::SeqCst);
        let sent = self.send(last).map_err(|error| format!("--acks {}: {error}", self.name));
        if sent.is_err() {
            self.hang_up();
        }
        if let Some(task) = self.task.take() {
            let _ = task.join();
        }
        let out = self.out.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Out::File(file) = &*out {
            file.sync_data().map_err(|error| format!("--acks {}: {error}", self.name))?;
        }
        drop(out);
        sent.and_then(|()| self.gone().map_or(Ok(()), Err))
    }

    fn hang_up(&self) {
        let out = self.out.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Out::Server(stream) = &*out {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Opens a log to append to, begins a new line if its last one was cut, and makes the run's beginning
/// durable.
pub fn open_log(path: &Path, first: &Line) -> io::Result<File> {
    use std::os::unix::fs::FileExt;
    let mut file = File::options().read(true).append(true).create(true).open(path)?;
    let len = file.metadata()?.len();
    let mut end = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut end, len - 1)?;
    }
    let text = first.text();
    file.write_all(if end == *b"\n" { text } else { format!("\n{text}") }.as_bytes())?;
    file.sync_all()?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(file)
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name leads nowhere");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, SILENCE_MAX) {
            Ok(stream) => {
                // An acknowledgement leaves at once, or it would be less than it could be.
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(SILENCE_MAX))?;
                stream.set_write_timeout(Some(SILENCE_MAX))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn keep_synced(file: &File, shared: &Shared) {
    let mut len = 0;
    while !shared.ending.load(Ordering::SeqCst) {
        std::thread::sleep(SYNC_EVERY);
        let now = file.metadata().map_or(len, |metadata| metadata.len());
        if now != len
            && let Err(error) = file.sync_data()
        {
            shared.lose(format!("cannot be synced: {error}"));
            return;
        }
        len = now;
    }
}

/// Hears what the other side has, until it ends.
fn listen(mut reader: BufReader<TcpStream>, shared: &Shared) {
    let mut heard = Instant::now();
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) => {
                if !shared.ending.load(Ordering::SeqCst) {
                    shared.lose("the other side hung up".into());
                }
                return;
            }
            Ok(_) => {
                heard = Instant::now();
                match line.trim_end().split_once(' ') {
                    Some(("have", count)) => {
                        shared.received.store(count.parse().unwrap_or(0), Ordering::SeqCst);
                    }
                    Some(("refused", why)) => shared.lose(format!("the other side gave up: {why}")),
                    _ => shared.lose("the other side says what makes no sense".into()),
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                if heard.elapsed() >= SILENCE_MAX {
                    shared.lose(format!("the other side has been silent for {} s", SILENCE_MAX.as_secs()));
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                shared.lose(error.to_string());
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_files() {
        for server in ["host:7000", "10.0.0.1:1", "[::1]:80"] {
            assert_eq!(Place::of(server), Place::Server(server.into()));
        }
        for file in ["acks", "/mnt/a:1", ":80", "host:", "host:99999", "C:x"] {
            assert_eq!(Place::of(file), Place::File(file.into()));
        }
    }
}
