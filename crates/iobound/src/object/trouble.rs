//! What a store's answer means and what to do about it.

use std::error::Error as _;

use object_store::Error;

use super::address::Address;
use super::requests::UNTRUSTED;
use super::store::TRY_AGAIN_FOR;
use crate::exit::Failure;

/// The address under which machines of a cloud are given credentials: it is asked when nothing else has any.
const METADATA: [&str; 2] = ["169.254.169.254", "metadata.google.internal"];

/// Answers that may be others the next time.
const TRANSIENT: [&str; 5] =
    ["SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "ServerBusy"];

/// The failure of one request, with cause and remedy. `last` is how the last attempt failed on the way.
pub(super) fn explain(address: &Address, error: &Error, last: Option<&str>) -> Failure {
    let scheme = address.scheme;
    let text = whole(error);
    let code = code_in(&text);
    let said = code.map_or(String::new(), |code| format!(" ({code})"));
    if METADATA.iter().any(|place| text.contains(place)) {
        return no_credentials(address);
    }
    match error {
        Error::NotFound { .. } if code != Some("NoSuchKey") => Failure::usage(format!(
            "{address}: there is no bucket '{}'{said}; make it, or name another",
            address.bucket
        )),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Failure::usage(format!(
            "{address}: the store refuses these credentials{said}; check {}, and what they may do in '{}'",
            scheme.credentials(),
            address.bucket
        )),
        _ => match (last, code) {
            (Some(last), None) if last.starts_with(UNTRUSTED) => {
                Failure::usage(format!("{address}: {last}; {}", remedy(address, last)))
            }
            (Some(last), code) if code.is_none_or(|code| TRANSIENT.contains(&code)) => {
                Failure::broke(format!(
                    "{address}: {last}, and again each time it was tried for {} s; {}",
                    TRY_AGAIN_FOR.as_secs(),
                    remedy(address, last)
                ))
            }
            (_, Some(code)) => {
                Failure::broke(format!("{address}: the store answers {code}: {}", shortened(&text)))
            }
            (_, None) => Failure::broke(format!("{address}: {}", shortened(&text))),
        },
    }
}

/// Nothing says who asks.
pub(super) fn no_credentials(address: &Address) -> Failure {
    Failure::usage(format!(
        "{address}: no credentials were found, and this machine is given none by its cloud; set {} (profiles of \
         other programs are not read)",
        address.scheme.credentials()
    ))
}

/// What to do about a request that failed on the way.
pub(super) fn remedy(address: &Address, last: &str) -> String {
    if last.starts_with("503") || last.starts_with("429") {
        return "the store wants fewer requests: lower --num-writers, or try later".into();
    }
    if last.starts_with('5') {
        return "the store itself is at fault: look at its log, or at its status page".into();
    }
    if last == "connection cut" {
        return "look at the server's log, and at what is between (a proxy, a load balancer)".into();
    }
    if last.starts_with(UNTRUSTED) {
        return format!(
            "is {} right? If so, let SSL_CERT_FILE name a file (PEM) with the certificate of its authority, or \
             install that on this machine",
            address.scheme.endpoint()
        );
    }
    format!("is the server there, and {} right?", address.scheme.endpoint())
}

/// An answer in a few words, the same for the same kind of failure.
pub(super) fn in_brief(error: &Error, last: Option<String>) -> String {
    let text = whole(error);
    match (code_in(&text), error, last) {
        (Some(code), _, _) => code.into(),
        (None, Error::NotFound { .. }, _) => "not found".into(),
        (None, Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, _) => "access denied".into(),
        (None, _, Some(last)) => last,
        (None, _, None) => shortened(&text),
    }
}

/// All that an error and its sources say, once.
fn whole(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = inner.source();
    }
    text
}

/// The store's own word for what is wrong: `<Code>NoSuchBucket</Code>`.
pub(super) fn code_in(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    (!code.is_empty() && code.len() <= 64).then_some(code)
}

fn shortened(text: &str) -> String {
    const MOST: usize = 400;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(error: Error, last: Option<&str>) -> Failure {
        explain(&Address::parse("s3://bucket/key").unwrap().unwrap(), &error, last)
    }

    #[test]
    fn answers_are_told_with_cause_and_remedy() {
        let source = |words: &str| words.to_string().into();
        let path = || "key".to_string();
        let refused = explained(
            Error::PermissionDenied { path: path(), source: source("403: <Code>InvalidAccessKeyId</Code>") },
            None,
        );
        assert_eq!(refused.code, crate::exit::USAGE);
        assert!(
            refused.words.contains("InvalidAccessKeyId") && refused.words.contains("AWS_SECRET_ACCESS_KEY")
        );
        let missing =
            explained(Error::NotFound { path: path(), source: source("<Code>NoSuchBucket</Code>") }, None);
        assert!(missing.words.contains("no bucket 'bucket'"), "{missing}");
        let nobody =
            Error::Generic { store: "S3", source: source("PUT http://169.254.169.254/latest/api/token") };
        assert!(explained(nobody, Some("timeout")).words.contains("no credentials were found"));
        let cut = Error::Generic { store: "S3", source: source("error sending request") };
        let words = explained(cut, Some("connection refused")).words;
        assert!(words.contains("connection refused") && words.contains("AWS_ENDPOINT_URL"), "{words}");
    }
}
