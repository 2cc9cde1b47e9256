//! An object as the end of a stream: each buffer of the pool is a part of a multipart upload, and comes back
//! to the pool when the store has it. Nothing is copied on the way to the socket.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use iobound_engine::stream::{Chunk, Done, Granted, Outlet, Pool, Sink};
use iobound_engine::{Control, EngineError};
use object_store::multipart::PartId;
use object_store::{MultipartId, PutPayload};
use tokio::task::AbortHandle;

use super::address::Scheme;
use super::store::{Store, runtime};
use crate::exit::Failure;

/// Longest wait between two looks at whether to stop.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// An upload is given up for aborted after this long: an operator waits for it after Ctrl-C.
const ABORT_FOR: Duration = Duration::from_secs(10);
/// A server may still be storing a part whose request was cut: it is left to see that before the upload goes.
const SETTLE: Duration = Duration::from_millis(300);

/// An object to be written.
pub(crate) struct ObjectOutlet {
    pub(crate) store: Store,
    control: Arc<Control>,
    upload: Mutex<Upload>,
    /// Parts were cut off on their way.
    cut: AtomicBool,
    /// An earlier repeat is stored whole.
    stored: AtomicBool,
}

#[derive(Default)]
struct Upload {
    id: Option<MultipartId>,
    parts: Vec<Option<PartId>>,
}

impl ObjectOutlet {
    /// Over a store; `control` ends what waits.
    pub(crate) fn new(store: Store, control: Arc<Control>) -> ObjectOutlet {
        ObjectOutlet {
            store,
            control,
            upload: Mutex::default(),
            cut: AtomicBool::new(false),
            stored: AtomicBool::new(false),
        }
    }

    fn upload(&self) -> MutexGuard<'_, Upload> {
        self.upload.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Begins an upload, in place of one that may be under way.
    ///
    /// # Errors
    /// The store's.
    pub(crate) fn begin(&self, look: impl FnMut() -> bool) -> Result<(), Failure> {
        {
            let upload = self.upload();
            if upload.id.is_some() && upload.parts.is_empty() {
                return Ok(());
            }
        }
        self.abort().map_err(Failure::broke)?;
        let id = self.store.wait(self.store.objects.create_multipart(&self.store.address.key), look)?;
        *self.upload() = Upload { id: Some(id), parts: Vec::new() };
        Ok(())
    }

    /// Takes the upload that is under way back.
    ///
    /// # Errors
    /// In words, with what is left and how to remove it.
    pub(crate) fn abort(&self) -> Result<(), String> {
        let Some(id) = self.upload().id.take() else { return Ok(()) };
        if self.cut.swap(false, Relaxed) {
            std::thread::sleep(SETTLE);
        }
        let key = &self.store.address.key;
        let aborted = self.store.wait_at_most(ABORT_FOR, self.store.objects.abort_multipart(key, &id));
        aborted.map_err(|failure| {
            format!(
                "the upload could not be aborted and its parts are still stored: {failure}; abort it by hand \
                 (bucket {}, key {key}, upload {id})",
                self.store.address.bucket
            )
        })
    }

    /// The abort in words.
    pub(crate) fn discard(&self) -> String {
        if let Err(left) = self.abort() {
            return left;
        }
        match (self.stored.load(Relaxed), self.store.address.scheme) {
            (true, _) => "the upload was aborted; the object of the repeat before is there".into(),
            // Azure has no way to take blocks back.
            (false, Scheme::Azure) => {
                "no object was made; the store drops the blocks that it has within a week".into()
            }
            (false, _) => "the upload was aborted: nothing of it is stored".into(),
        }
    }

    /// How many parts the upload has.
    pub(crate) fn parts(&self) -> usize {
        self.upload().parts.len()
    }

    fn stored_part(&self, index: usize, id: PartId) {
        let mut upload = self.upload();
        if upload.parts.len() <= index {
            upload.parts.resize(index + 1, None);
        }
        upload.parts[index] = Some(id);
    }
}

impl Outlet for ObjectOutlet {
    fn sink(&self, pool: &Pool, _depth: u32) -> Result<(Box<dyn Sink + '_>, Granted), EngineError> {
        let id = self.upload().id.clone();
        let id = id.ok_or_else(|| EngineError::Broke {
            what: "uploading".into(),
            source: io::Error::other("no upload was begun"),
            remedy: String::new(),
        })?;
        let part_bytes = pool.buffer_bytes() as u64;
        let (back, events) = channel();
        let sink = ObjectSink { outlet: self, id, part_bytes, back, events, under_way: HashMap::new() };
        Ok((Box::new(sink), Granted::default()))
    }

    fn finish(&self, _position: u64, rest: &[u8]) -> io::Result<()> {
        assert!(rest.is_empty(), "parts may have any length, so that none is left over");
        let (id, parts) = {
            let upload = self.upload();
            (upload.id.clone(), upload.parts.iter().cloned().collect::<Option<Vec<PartId>>>())
        };
        let (Some(id), Some(parts)) = (id, parts) else {
            return Err(io::Error::other("a part is missing"));
        };
        let key = &self.store.address.key;
        let complete = self.store.objects.complete_multipart(key, &id, parts);
        match self.store.wait(complete, || !self.control.is_stopped()) {
            Ok(_) => {
                self.upload().id = None;
                self.stored.store(true, Relaxed);
                Ok(())
            }
            Err(_) if self.control.is_stopped() => Err(io::ErrorKind::Interrupted.into()),
            Err(failure) => Err(io::Error::other(failure.words)),
        }
    }
}

/// What a sink hears of its parts.
enum Event {
    /// The store's answer to the part at this position.
    Answer(u64, Result<PartId, object_store::Error>),
    /// Nobody reads the buffer any more.
    Back(Chunk),
}

/// A buffer on loan to the connection. It comes back when the last who reads it drops it, which may be
/// after the answer: a server can refuse a part before it has all of it.
struct Lent {
    chunk: Option<Chunk>,
    back: Sender<Event>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.chunk.as_deref().unwrap_or_default()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            // Without a sink the chunk is dropped, which frees it.
            let _ = self.back.send(Event::Back(chunk));
        }
    }
}

struct Part {
    task: AbortHandle,
    chunk: Option<Chunk>,
    result: Option<io::Result<()>>,
}

struct ObjectSink<'a> {
    outlet: &'a ObjectOutlet,
    id: MultipartId,
    part_bytes: u64,
    back: Sender<Event>,
    events: Receiver<Event>,
    /// By position.
    under_way: HashMap<u64, Part>,
}

impl ObjectSink<'_> {
    fn hear(&mut self, event: Event, done: &mut Vec<Done>) {
        let position = match event {
            Event::Answer(position, answer) => {
                let result = answer.map(|part| {
                    self.outlet.stored_part((position / self.part_bytes) as usize, part);
                });
                let result =
                    result.map_err(|error| io::Error::other(self.outlet.store.explain(&error).words));
                if let Some(part) = self.under_way.get_mut(&position) {
                    part.result.get_or_insert(result);
                }
                position
            }
            Event::Back(chunk) => {
                let position = chunk.position();
                if let Some(part) = self.under_way.get_mut(&position) {
                    part.chunk = Some(chunk);
                }
                position
            }
        };
        self.settle(position, done);
    }

    /// A part is done when there is an answer and its buffer is back.
    fn settle(&mut self, position: u64, done: &mut Vec<Done>) {
        let is_over = |part: &Part| part.chunk.is_some() && part.result.is_some();
        if self.under_way.get(&position).is_some_and(is_over)
            && let Some(Part { chunk: Some(chunk), result: Some(result), .. }) =
                self.under_way.remove(&position)
        {
            done.push(Done { chunk, result });
        }
    }

    /// Cuts off what is on its way: nobody wants it any more.
    fn cut(&mut self, done: &mut Vec<Done>) {
        for part in self.under_way.values_mut().filter(|part| part.result.is_none()) {
            part.task.abort();
            part.result = Some(Err(io::ErrorKind::Interrupted.into()));
            self.outlet.cut.store(true, Relaxed);
        }
        let positions: Vec<u64> = self.under_way.keys().copied().collect();
        positions.into_iter().for_each(|position| self.settle(position, done));
    }
}

impl Sink for ObjectSink<'_> {
    fn put(&mut self, chunk: Chunk) -> io::Result<()> {
        let position = chunk.position();
        let index = (position / self.part_bytes) as usize;
        let lent = Lent { chunk: Some(chunk), back: self.back.clone() };
        let payload = PutPayload::from(Bytes::from_owner(lent));
        let (store, id, back) = (self.outlet.store.clone(), self.id.clone(), self.back.clone());
        let runtime = runtime().map_err(|failure| io::Error::other(failure.words))?;
        let task = runtime.spawn(async move {
            let answer = store.objects.put_part(&store.address.key, &id, index, payload).await;
            let _ = back.send(Event::Answer(position, answer));
        });
        self.under_way.insert(position, Part { task: task.abort_handle(), chunk: None, result: None });
        Ok(())
    }

    fn done(&mut self, least: u32, longest: Option<Duration>, done: &mut Vec<Done>) -> io::Result<()> {
        let wanted = done.len() + least as usize;
        while let Ok(event) = self.events.try_recv() {
            self.hear(event, done);
        }
        let end = longest.map(|longest| Instant::now() + longest);
        while done.len() < wanted {
            if self.outlet.control.is_stopped() {
                self.cut(done);
            }
            if done.len() >= wanted {
                break;
            }
            let left = end.map_or(LOOK_AGAIN, |end| end.saturating_duration_since(Instant::now()));
            match self.events.recv_timeout(left.min(LOOK_AGAIN)) {
                Ok(event) => self.hear(event, done),
                Err(RecvTimeoutError::Timeout) if left <= LOOK_AGAIN && end.is_some() => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
        Ok(())
    }
}
