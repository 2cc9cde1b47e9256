//! Every request that goes to a store, counted: how many were sent, and how many failed and of what, also
//! where trying again mended it.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

/// The count of one store's requests.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    sent: AtomicU64,
    failed: Mutex<BTreeMap<String, u64>>,
    last: Mutex<Option<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Requests {
    /// Requests sent, those that were repeated included.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Relaxed)
    }

    /// Those that failed in a way that is tried again, each kind with its count.
    pub(crate) fn failed(&self) -> Vec<(String, u64)> {
        locked(&self.failed).iter().map(|(kind, count)| (kind.clone(), *count)).collect()
    }

    /// How the last one failed.
    pub(crate) fn last(&self) -> Option<String> {
        locked(&self.last).clone()
    }

    fn count(&self, kind: String) {
        *locked(&self.failed).entry(kind.clone()).or_default() += 1;
        *locked(&self.last) = Some(kind);
    }
}

/// Makes clients that count.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted(pub(super) Arc<Requests>);

impl HttpConnector for Counted {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Service { inner, requests: Arc::clone(&self.0) }))
    }
}

#[derive(Debug)]
struct Service {
    inner: HttpClient,
    requests: Arc<Requests>,
}

#[async_trait::async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        self.requests.sent.fetch_add(1, Relaxed);
        match self.inner.execute(request).await {
            Ok(response) => {
                let status = response.status();
                let is_tried_again = status.is_server_error() || matches!(status.as_u16(), 408 | 429);
                if is_tried_again {
                    self.requests.count(match status.as_u16() {
                        // S3 says "SlowDown" in the body, Azure "ServerBusy": the same thing.
                        503 => "503 Slow Down".into(),
                        _ => status.to_string(),
                    });
                }
                Ok(response)
            }
            Err(error) => {
                let kind = kind_of(&error);
                // A server that cannot prove who it is will not do so the next time either.
                let is_final = kind.starts_with(UNTRUSTED);
                self.requests.count(kind);
                Err(if is_final { HttpError::new(HttpErrorKind::Unknown, error) } else { error })
            }
        }
    }
}

/// How a failure begins that no other attempt would mend.
pub(super) const UNTRUSTED: &str = "the server's certificate is not trusted";

/// What TLS says against a server's certificate. It comes inside errors of the connection, whose `source` leaves out
/// what they wrap.
fn objection<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::CertificateError> {
    if let Some(rustls::Error::InvalidCertificate(objection)) = error.downcast_ref() {
        return Some(objection);
    }
    objection(error.downcast_ref::<io::Error>()?.get_ref()?)
}

/// What went wrong on the way, in a few words.
fn kind_of(error: &HttpError) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
        if let Some(objection) = objection(source) {
            return format!("{UNTRUSTED} ({objection:?})");
        }
        if let Some(error) = source.downcast_ref::<io::Error>() {
            let known = match error.kind() {
                io::ErrorKind::ConnectionRefused => Some("connection refused"),
                io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Some("connection cut"),
                io::ErrorKind::UnexpectedEof => Some("connection cut"),
                io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Some("no route"),
                io::ErrorKind::TimedOut => Some("timeout"),
                _ => None,
            };
            if let Some(known) = known {
                return known.into();
            }
        }
    }
    match error.kind() {
        HttpErrorKind::Timeout => "timeout".into(),
        HttpErrorKind::Connect => format!("no connection: {innermost}"),
        // hyper's own words for a peer that hangs up in the middle.
        _ if innermost.to_string().contains("before message completed") => "connection cut".into(),
        _ => innermost.to_string(),
    }
}
