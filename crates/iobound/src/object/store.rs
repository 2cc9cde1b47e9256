//! The way to a store: configured by the environment, with retries that end.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use iobound_host::System;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::multipart::MultipartStore;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};
use tokio::runtime::Runtime;

use super::address::{Address, Scheme};
use super::requests::{Counted, Requests};
use super::trouble::{explain, in_brief, no_credentials};
use crate::exit::Failure;

/// A request is tried again for this long, all attempts together: an operator waits for no dead server longer.
pub(super) const TRY_AGAIN_FOR: Duration = Duration::from_secs(15);
const TRIES_MOST: usize = 20;
/// A part that moves more slowly than this is taken for stuck.
const SLOWEST_BYTES_PER_S: u64 = 1 << 20;
const LONGEST_ANSWER: Duration = Duration::from_secs(30);
/// Between two looks at whether to stop.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// All that is asked of a store.
pub(crate) trait Objects: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> Objects for T {}

/// A store, ready to be asked.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) address: Address,
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) requests: Arc<Requests>,
}

/// The threads that speak to stores; they sleep when there is nothing to say.
pub(crate) fn runtime() -> Result<&'static Runtime, Failure> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            // Another may have been chosen by the program that this is a library of.
            let _ = rustls::crypto::ring::default_provider().install_default();
            tokio::runtime::Builder::new_multi_thread()
                .thread_name("objects")
                .enable_all()
                .build()
                .map_err(|error| error.to_string())
        })
        .as_ref()
        .map_err(|error| Failure::broke(format!("starting the threads for object stores: {error}")))
}

/// Whether there is anything that credentials may come from: without, every request would first wait for a
/// metadata service that is not there.
fn has_aws_credentials() -> bool {
    let names = [
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_METADATA_ENDPOINT",
        "AWS_SKIP_SIGNATURE",
    ];
    names.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
        || iobound_host::provider(&System::live()).as_deref() == Some("aws")
}

impl Store {
    /// A store as the environment says; `part_bytes` is the most that one request will move. Asks nothing yet.
    ///
    /// # Errors
    /// What the environment lacks.
    pub(crate) fn new(address: &Address, part_bytes: u64) -> Result<Store, Failure> {
        runtime()?;
        if address.scheme == Scheme::S3 && !has_aws_credentials() {
            return Err(no_credentials(address));
        }
        let counted = Counted::default();
        let requests = Arc::clone(&counted.0);
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(3),
                base: 2.0,
            },
            max_retries: TRIES_MOST,
            retry_timeout: TRY_AGAIN_FOR,
        };
        let timeout = LONGEST_ANSWER + Duration::from_secs(part_bytes / SLOWEST_BYTES_PER_S);
        let timeout = format!("{} seconds", timeout.as_secs());
        let url = format!("{}://{}", address.scheme.as_str(), address.bucket);
        // Plain HTTP is spoken only where somebody wrote "http://".
        let plain = |names: &[&str]| {
            let said = names.iter().find_map(|name| std::env::var(name).ok());
            said.is_some_and(|endpoint| endpoint.starts_with("http://"))
        };
        let lacks = |error: object_store::Error| explain(address, &error, None);
        let objects: Arc<dyn Objects> = match address.scheme {
            Scheme::S3 => {
                let key = AmazonS3ConfigKey::Client;
                let mut builder = AmazonS3Builder::from_env()
                    .with_url(url)
                    // One request for each object: a DELETE is timed as what it is.
                    .with_disable_bulk_delete(true)
                    .with_config(key(ClientConfigKey::Timeout), timeout)
                    .with_retry(retry)
                    .with_http_connector(counted);
                if plain(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]) {
                    builder = builder.with_allow_http(true);
                }
                Arc::new(builder.build().map_err(lacks)?)
            }
            Scheme::Google => {
                let key = GoogleConfigKey::Client;
                let mut builder = GoogleCloudStorageBuilder::from_env()
                    .with_url(url)
                    .with_config(key(ClientConfigKey::Timeout), timeout)
                    .with_retry(retry)
                    .with_http_connector(counted);
                if plain(&["GOOGLE_BASE_URL"]) {
                    builder = builder.with_config(key(ClientConfigKey::AllowHttp), "true");
                }
                Arc::new(builder.build().map_err(lacks)?)
            }
            Scheme::Azure => {
                let key = AzureConfigKey::Client;
                let mut builder = MicrosoftAzureBuilder::from_env()
                    .with_url(url)
                    .with_config(key(ClientConfigKey::Timeout), timeout)
                    .with_retry(retry)
                    .with_http_connector(counted);
                if plain(&["AZURE_ENDPOINT", "AZURE_STORAGE_ENDPOINT"]) {
                    builder = builder.with_allow_http(true);
                }
                Arc::new(builder.build().map_err(lacks)?)
            }
        };
        Ok(Store { address: address.clone(), objects, requests })
    }

    /// Waits for one request, from a thread that is none of the runtime's. `look` is called meanwhile, and
    /// ends the wait by returning false.
    ///
    /// # Errors
    /// The store's answer with cause and remedy, or that the wait was ended.
    pub(crate) fn wait<T>(
        &self,
        request: impl Future<Output = object_store::Result<T>>,
        mut look: impl FnMut() -> bool,
    ) -> Result<T, Failure> {
        let answer = runtime()?.block_on(async {
            let mut request = pin!(request);
            loop {
                if let Ok(answer) = tokio::time::timeout(LOOK_AGAIN, &mut request).await {
                    return Some(answer);
                }
                if !look() {
                    return None;
                }
            }
        });
        match answer {
            Some(answer) => answer.map_err(|error| self.explain(&error)),
            None => Err(Failure::broke(format!("{}: interrupted", self.address))),
        }
    }

    /// The same, with a failure that is short enough to be counted by.
    ///
    /// # Errors
    /// The store's answer in a few words, or that the wait was ended.
    pub(crate) fn wait_briefly<T>(
        &self,
        request: impl Future<Output = object_store::Result<T>>,
        look: impl FnMut() -> bool,
    ) -> Result<T, Failure> {
        let mut brief = None;
        let answer = self.wait(
            async {
                let answer = request.await;
                brief = answer.as_ref().err().map(|error| in_brief(error, self.requests.last()));
                answer
            },
            look,
        );
        answer.map_err(|failure| brief.map_or(failure, Failure::broke))
    }

    /// The same, for at most so long and whatever is asked meanwhile.
    ///
    /// # Errors
    /// The store's answer, or that there was none in time.
    pub(crate) fn wait_at_most<T>(
        &self,
        longest: Duration,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Failure> {
        let end = Instant::now() + longest;
        self.wait(request, || Instant::now() < end)
    }

    /// What went wrong, with cause and remedy.
    pub(crate) fn explain(&self, error: &object_store::Error) -> Failure {
        explain(&self.address, error, self.requests.last().as_deref())
    }
}
