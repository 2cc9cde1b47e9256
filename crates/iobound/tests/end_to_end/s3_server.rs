//! A real S3 server on loopback, over a temporary directory, with credentials that are checked, and with
//! the faults that a network and a busy store have.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Command;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s::{S3Result, s3_error};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::support::IOBOUND;

pub const BUCKET: &str = "bench";
const ACCESS_KEY: &str = "AKIATESTTESTTEST";
const SECRET_KEY: &str = "a secret that only the tests know";

/// What goes wrong, as long as it lasts.
#[derive(Default)]
pub struct Faults {
    /// So many requests of an operation are answered 503 Slow Down.
    slow_down: Mutex<BTreeMap<&'static str, u32>>,
    /// So many connections are cut after [`CUT_AFTER`] bytes; negative cuts all.
    pub cut: AtomicI64,
    /// Requests of each operation.
    seen: Mutex<BTreeMap<String, u32>>,
    /// Each part waits so long before it is stored.
    pub part_ms: AtomicU64,
    /// Connections accepted.
    pub connections: AtomicU32,
}

/// Enough for all small requests of a test, and less than a part.
const CUT_AFTER: u64 = 2 << 20;

impl Faults {
    pub fn slow_down(&self, operation: &'static str, times: u32) {
        self.slow_down.lock().unwrap().insert(operation, times);
    }

    fn is_slowed_down(&self, request: &Request<Incoming>) -> bool {
        let mut all = self.slow_down.lock().unwrap();
        match all.get_mut(operation(request)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }

    pub fn seen(&self, operation: &str) -> u32 {
        self.seen.lock().unwrap().get(operation).copied().unwrap_or(0)
    }
}

/// The operations that faults are planted in.
fn operation(request: &Request<Incoming>) -> &'static str {
    let query = request.uri().query().unwrap_or_default();
    match *request.method() {
        Method::PUT if query.contains("partNumber=") => "UploadPart",
        Method::PUT => "PutObject",
        Method::GET if query.contains("list-type=") => "ListObjectsV2",
        Method::GET => "GetObject",
        _ => "",
    }
}

/// What S3 says to too many requests, once it has the whole of one.
async fn slow_down(request: Request<Incoming>) -> Response<s3s::Body> {
    let _ = request.into_body().collect().await;
    let body = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
    Response::builder().status(503).body(s3s::Body::from(body.to_string())).unwrap()
}

pub struct Server {
    root: tempfile::TempDir,
    address: SocketAddr,
    scheme: &'static str,
    pub faults: Arc<Faults>,
    /// Ends with the server.
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    /// A server with one empty bucket.
    pub fn new() -> Server {
        Server::start(None)
    }

    /// The same behind TLS.
    pub fn with_tls(certificate: &Certificate) -> Server {
        Server::start(Some(certificate.acceptor()))
    }

    fn start(tls: Option<TlsAcceptor>) -> Server {
        let prefix = format!("iobound-test-{}-", std::process::id());
        let root = tempfile::Builder::new().prefix(&prefix).tempdir().unwrap();
        fs::create_dir(root.path().join(BUCKET)).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let faults = Arc::new(Faults::default());
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(root.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
        builder.set_access(Door { root: root.path().into(), faults: Arc::clone(&faults) });
        let service = builder.build();
        let shared = Arc::clone(&faults);
        let scheme = if tls.is_some() { "https" } else { "http" };
        runtime.spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else { continue };
                // Or an answer's end waits for the client's delayed acknowledgement.
                let _ = socket.set_nodelay(true);
                shared.connections.fetch_add(1, SeqCst);
                let cuts = shared.cut.fetch_update(SeqCst, SeqCst, |left| {
                    (left != 0).then_some(if left > 0 { left - 1 } else { left })
                });
                let socket = Wire { socket, left: cuts.ok().map(|_| CUT_AFTER) };
                let (service, faults, tls) = (service.clone(), Arc::clone(&shared), tls.clone());
                tokio::spawn(async move {
                    let answer = service_fn(|request: Request<Incoming>| {
                        let (service, faults) = (service.clone(), Arc::clone(&faults));
                        async move {
                            match faults.is_slowed_down(&request) {
                                false => Service::call(&service, request).await,
                                true => Ok(slow_down(request).await),
                            }
                        }
                    });
                    let builder = http1::Builder::new();
                    let Some(tls) = tls else {
                        let _ = builder.serve_connection(TokioIo::new(socket), answer).await;
                        return;
                    };
                    if let Ok(socket) = tls.accept(socket).await {
                        let _ = builder.serve_connection(TokioIo::new(socket), answer).await;
                    }
                });
            }
        });
        Server { root, address, scheme, faults, _runtime: runtime }
    }

    pub fn endpoint(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// The program with all that it needs to reach the server.
    pub fn command(&self) -> Command {
        let mut command = Command::new(IOBOUND);
        without_environment(&mut command);
        command
            .env("AWS_ENDPOINT_URL", self.endpoint())
            .env("AWS_ACCESS_KEY_ID", ACCESS_KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .env("AWS_REGION", "us-east-1");
        command
    }

    /// What a bucket's object holds; None where there is none.
    pub fn object(&self, key: &str) -> Option<Vec<u8>> {
        fs::read(self.path(key)).ok()
    }

    pub fn path(&self, key: &str) -> PathBuf {
        self.root.path().join(BUCKET).join(key)
    }

    /// Objects in the bucket.
    pub fn keys(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut left = vec![self.root.path().join(BUCKET)];
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                match entry.file_type().unwrap().is_dir() {
                    true => left.push(entry.path()),
                    false => found.push(entry.path().display().to_string()),
                }
            }
        }
        found
    }

    /// What the server keeps of uploads that are neither complete nor aborted: their marks, their parts, and
    /// files that are being received.
    pub fn half_written(&self) -> Vec<String> {
        let all = fs::read_dir(self.root.path()).unwrap().flatten();
        let names = all.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(".upload") || name.starts_with(".tmp")).collect()
    }
}

/// A certificate for 127.0.0.1 and the authority that signed it, which nobody knows.
pub struct Certificate {
    dir: tempfile::TempDir,
}

impl Certificate {
    /// None, with the reason said, where there is no openssl.
    pub fn make() -> Option<Certificate> {
        if Command::new("openssl").arg("version").output().is_err() {
            iobound_lab::skip("openssl is not installed; scripts/install-test-deps.sh installs it");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let openssl = |arguments: &str| {
            let done = Command::new("openssl").current_dir(dir.path()).args(arguments.split(' ')).output();
            let done = done.unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        };
        let key = "-newkey rsa:2048 -nodes";
        openssl(&format!(
            "req -x509 {key} -keyout authority.key -out authority.pem -days 2 -subj /CN=authority"
        ));
        openssl(&format!("req {key} -keyout server.key -out server.csr -subj /CN=server"));
        let about = "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n";
        fs::write(dir.path().join("server.about"), about).unwrap();
        openssl(
            "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 \
             -extfile server.about -out server.pem",
        );
        Some(Certificate { dir })
    }

    /// For `SSL_CERT_FILE`.
    pub fn authority(&self) -> PathBuf {
        self.dir.path().join("authority.pem")
    }

    fn acceptor(&self) -> TlsAcceptor {
        let certificate = CertificateDer::from_pem_file(self.dir.path().join("server.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(self.dir.path().join("server.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Nothing of this machine's own set-up may reach a test.
pub fn without_environment(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let prefixes = ["AWS_", "GOOGLE_", "AZURE_", "SSL_CERT_"];
        if prefixes.iter().any(|prefix| name.starts_with(prefix)) || name.to_lowercase().ends_with("_proxy") {
            command.env_remove(name);
        }
    }
}

/// Sees every request before it is served.
struct Door {
    root: PathBuf,
    faults: Arc<Faults>,
}

#[async_trait::async_trait]
impl S3Access for Door {
    async fn check(&self, request: &mut S3AccessContext<'_>) -> S3Result<()> {
        let operation = request.s3_op().name();
        *self.faults.seen.lock().unwrap().entry(operation.to_string()).or_default() += 1;
        if request.credentials().is_none() {
            return Err(s3_error!(AccessDenied));
        }
        // The server behind makes a bucket's directory with its first object; S3 does not.
        if let Some(bucket) = request.s3_path().get_bucket_name()
            && !self.root.join(bucket).is_dir()
        {
            return Err(s3_error!(NoSuchBucket));
        }
        if operation == "UploadPart" {
            tokio::time::sleep(Duration::from_millis(self.faults.part_ms.load(SeqCst))).await;
        }
        Ok(())
    }
}

/// A connection that may be cut after so many bytes from the client: from then on neither side hears more.
struct Wire {
    socket: TcpStream,
    left: Option<u64>,
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.alive()?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        let came = (buffer.filled().len() - before) as u64;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(came);
        }
        read
    }
}

impl Wire {
    fn alive(&self) -> io::Result<()> {
        if self.left == Some(0) { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.alive()?;
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.alive()?;
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
