//! One short HTTP question.

use std::time::{Duration, Instant};

use ureq::Agent;

use super::MetadataEndpoint;

/// Connecting, and each answer, within the same machine takes under a millisecond; a service that is
/// filtered away never answers.
const EACH: Duration = Duration::from_millis(300);
/// The documents are of one or two KiB.
const BODY_MAX: u64 = 64 << 10;
const HEADER_MAX: usize = 16 << 10;

/// Asks one service until a deadline.
pub(super) struct Asker {
    agent: Agent,
    base: String,
    deadline: Instant,
}

/// A header and its value.
pub(super) type Header<'a> = (&'a str, &'a str);

impl Asker {
    pub fn new(endpoint: &MetadataEndpoint, deadline: Instant) -> Asker {
        // No proxy, whatever the environment says: it would answer for another machine. No redirects:
        // none of the services makes one, so whoever does is somebody else.
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_response_header_size(HEADER_MAX)
            .user_agent(concat!("iobound/", env!("CARGO_PKG_VERSION")))
            .build();
        Asker { agent: config.into(), base: endpoint.base.clone(), deadline }
    }

    pub fn get(&self, path: &str, headers: &[Header]) -> Result<String, String> {
        let mut request = self.agent.get(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.config().timeout_global(Some(self.left()?)).build();
        request.call().and_then(body).map_err(|error| format!("{path}: {error}"))
    }

    pub fn put(&self, path: &str, headers: &[Header]) -> Result<String, String> {
        let mut request = self.agent.put(format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.config().timeout_global(Some(self.left()?)).build();
        request.send_empty().and_then(body).map_err(|error| format!("{path}: {error}"))
    }

    fn left(&self) -> Result<Duration, String> {
        let left = self.deadline.saturating_duration_since(Instant::now()).min(EACH);
        if left.is_zero() { Err("no time is left to ask it".into()) } else { Ok(left) }
    }
}

fn body(mut response: ureq::http::Response<ureq::Body>) -> Result<String, ureq::Error> {
    response.body_mut().with_config().limit(BODY_MAX).read_to_string()
}

/// Text that may stand in a report: the services answer words, never control characters.
pub(super) fn word(text: &str) -> Result<String, String> {
    const WORD_MAX: usize = 256;
    let text = text.trim();
    if text.len() > WORD_MAX || text.chars().any(char::is_control) {
        return Err("its answer is not what the service would say".into());
    }
    Ok(text.to_owned())
}
