//! The host's end of the channel to the guest's agent (`agent.pl` has the other and the frames).

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::LabError;

/// Bytes of standard input in one frame: the agent reads this much at a time.
const CHUNK: usize = 64 << 10;
/// No frame of the agent is longer; a length above it means that the stream is not ours.
const FRAME_MAX: usize = 1 << 20;
/// A guest that takes nothing for this long takes nothing more.
const WRITE_LIMIT: Duration = Duration::from_secs(60);
/// How often a command with a time limit looks at the clock when nothing comes.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// What a command in the guest did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It wrote to standard output.
    Stdout(Vec<u8>),
    /// It wrote to standard error.
    Stderr(Vec<u8>),
    /// It ended with this code; 128 + n for signal n.
    Ended(i32),
}

enum Message {
    Event(Event),
    NotStarted(String),
}

type Commands = Arc<Mutex<Option<HashMap<u32, Sender<Message>>>>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The channel to one run of a machine, from its start to its end.
#[derive(Debug)]
pub struct Channel {
    stream: Mutex<UnixStream>,
    /// None once the machine is down.
    commands: Commands,
    next: AtomicU32,
    hello: Mutex<Receiver<String>>,
}

fn down() -> LabError {
    LabError::Down("the virtual machine is down".into())
}

impl Channel {
    /// Listens on `stream`.
    pub fn start(stream: UnixStream) -> Result<Self, LabError> {
        let failed = |error| LabError::Failed(format!("the channel to the guest: {error}"));
        stream.set_write_timeout(Some(WRITE_LIMIT)).map_err(failed)?;
        let reader = stream.try_clone().map_err(failed)?;
        let commands: Commands = Arc::new(Mutex::new(Some(HashMap::new())));
        let (say_hello, hello) = mpsc::channel();
        let shared = Arc::clone(&commands);
        std::thread::Builder::new()
            .name("lab channel".into())
            .spawn(move || {
                listen(reader, &shared, say_hello);
                // Whoever waits for a command learns that the machine is down; who waits for its hello has.
                *locked(&shared) = None;
            })
            .map_err(failed)?;
        Ok(Channel {
            stream: Mutex::new(stream),
            commands,
            next: AtomicU32::new(1),
            hello: Mutex::new(hello),
        })
    }

    /// The guest's boot id, once its agent runs; None when the time is over first.
    pub fn hello(&self, limit: Duration) -> Result<Option<String>, LabError> {
        match locked(&self.hello).recv_timeout(limit) {
            Ok(boot_id) => Ok(Some(boot_id)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(down()),
        }
    }

    /// Starts a command.
    pub fn run(self: &Arc<Self>, words: &[String]) -> Result<Running, LabError> {
        if words.is_empty() || words.iter().any(|word| word.contains('\0')) {
            return Err(LabError::Usage("a command has one word at least, and no NUL".into()));
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, messages) = mpsc::channel();
        locked(&self.commands).as_mut().ok_or_else(down)?.insert(number, sender);
        self.send(b'R', number, words.join("\0").as_bytes())?;
        Ok(Running { channel: Arc::clone(self), number, messages })
    }

    fn send(&self, kind: u8, number: u32, bytes: &[u8]) -> Result<(), LabError> {
        let mut frame = Vec::with_capacity(9 + bytes.len());
        frame.push(kind);
        frame.extend(number.to_be_bytes());
        frame.extend((bytes.len() as u32).to_be_bytes());
        frame.extend(bytes);
        locked(&self.stream)
            .write_all(&frame)
            .map_err(|error| LabError::Down(format!("the virtual machine takes no more commands: {error}")))
    }
}

/// Gives each frame to who waits for it, until the stream ends.
fn listen(mut stream: UnixStream, commands: &Commands, hello: Sender<String>) {
    let mut head = [0; 9];
    while stream.read_exact(&mut head).is_ok() {
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (kind, number, length) = (head[0], word(1), word(5) as usize);
        if length > FRAME_MAX {
            return;
        }
        let mut bytes = vec![0; length];
        if stream.read_exact(&mut bytes).is_err() {
            return;
        }
        if kind == b'H' {
            let _ = hello.send(String::from_utf8_lossy(&bytes).into_owned());
            continue;
        }
        let message = match kind {
            b'O' => Message::Event(Event::Stdout(bytes)),
            b'X' => Message::Event(Event::Stderr(bytes)),
            b'C' => Message::Event(Event::Ended(code_of(&String::from_utf8_lossy(&bytes)))),
            _ => Message::NotStarted(String::from_utf8_lossy(&bytes).into_owned()),
        };
        if let Some(commands) = locked(commands).as_mut() {
            let is_last = matches!(message, Message::NotStarted(_) | Message::Event(Event::Ended(_)));
            // A receiver that is gone has asked for nothing more.
            let _ = commands.get(&number).map(|sender| sender.send(message));
            if is_last {
                commands.remove(&number);
            }
        }
    }
}

/// The exit code of "code N"; as a shell's of "signal N".
fn code_of(ended: &str) -> i32 {
    let number = ended.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(255);
    if ended.starts_with("signal") { 128 + number } else { number }
}

/// A command that runs in the guest. Dropping it lets the command run on.
#[derive(Debug)]
pub struct Running {
    channel: Arc<Channel>,
    number: u32,
    messages: Receiver<Message>,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Message::Event(event) => event.fmt(f),
            Message::NotStarted(why) => write!(f, "not started: {why}"),
        }
    }
}

impl Running {
    /// Gives it standard input.
    ///
    /// # Errors
    /// Down when the machine is.
    pub fn write_stdin(&self, bytes: &[u8]) -> Result<(), LabError> {
        bytes.chunks(CHUNK).try_for_each(|chunk| self.channel.send(b'I', self.number, chunk))
    }

    /// Ends its standard input.
    ///
    /// # Errors
    /// Down when the machine is.
    pub fn close_stdin(&self) -> Result<(), LabError> {
        self.channel.send(b'E', self.number, &[])
    }

    /// Sends it, and what it started, a signal: `TERM`, `INT`, `KILL`.
    ///
    /// # Errors
    /// Down when the machine is.
    pub fn signal(&self, name: &str) -> Result<(), LabError> {
        self.channel.send(b'K', self.number, name.as_bytes())
    }

    /// What it did next; None when it did nothing until `deadline`.
    ///
    /// # Errors
    /// Failed when it could not be started; Down when the machine went down.
    pub fn next_event(&self, deadline: Option<Instant>) -> Result<Option<Event>, LabError> {
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match self.messages.recv_timeout(left.unwrap_or(LONGEST_WAIT)) {
                Ok(Message::Event(event)) => return Ok(Some(event)),
                Ok(Message::NotStarted(why)) => {
                    return Err(LabError::Failed(format!("cannot be started in the guest: {why}")));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(down()),
                Err(RecvTimeoutError::Timeout) if deadline.is_some() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, number: u32, bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![kind];
        frame.extend(number.to_be_bytes());
        frame.extend((bytes.len() as u32).to_be_bytes());
        frame.extend(bytes);
        frame
    }

    fn pair() -> (Arc<Channel>, UnixStream) {
        let (ours, guests) = UnixStream::pair().unwrap();
        (Arc::new(Channel::start(ours).unwrap()), guests)
    }

    #[test]
    fn events_come_in_order_and_end_with_the_code() {
        let (channel, mut guest) = pair();
        guest.write_all(&frame(b'H', 0, b"boot")).unwrap();
        assert_eq!(channel.hello(Duration::from_secs(5)).unwrap().as_deref(), Some("boot"));
        let running = channel.run(&["true".into(), "x".into()]).unwrap();
        let mut asked = vec![0; 9 + 6];
        guest.read_exact(&mut asked).unwrap();
        assert_eq!(asked, frame(b'R', 1, b"true\0x"));
        for reply in [frame(b'O', 1, b"out"), frame(b'X', 1, b"err"), frame(b'C', 1, b"signal 9")] {
            guest.write_all(&reply).unwrap();
        }
        let next = || running.next_event(None).unwrap().unwrap();
        assert_eq!(next(), Event::Stdout(b"out".into()));
        assert_eq!(next(), Event::Stderr(b"err".into()));
        assert_eq!(next(), Event::Ended(137));
    }

    #[test]
    fn a_machine_that_goes_down_says_so_to_who_waits() {
        let (channel, guest) = pair();
        let running = channel.run(&["sleep".into()]).unwrap();
        drop(guest);
        assert!(matches!(running.next_event(None), Err(LabError::Down(_))));
        assert!(matches!(channel.run(&["true".into()]), Err(LabError::Down(_))));
        assert!(matches!(channel.hello(Duration::ZERO), Err(LabError::Down(_))));
    }

    #[test]
    fn a_stream_that_is_not_ours_ends() {
        let (channel, mut guest) = pair();
        guest.write_all(&[0xFF; 64]).unwrap();
        assert!(matches!(channel.hello(Duration::from_secs(5)), Err(LabError::Down(_))));
    }
}
