//! What a user names: `s3://bucket/key`.

use std::fmt;

use object_store::path::Path;

use crate::exit::Failure;

/// Which language a store speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Google,
    Azure,
}

impl Scheme {
    fn of(word: &str) -> Option<Scheme> {
        match word {
            "s3" | "s3a" => Some(Scheme::S3),
            "gs" => Some(Scheme::Google),
            "az" | "abfs" | "abfss" => Some(Scheme::Azure),
            _ => None,
        }
    }

    /// The record's word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Scheme::S3 => "s3",
            Scheme::Google => "gs",
            Scheme::Azure => "az",
        }
    }

    /// Smallest part of an upload, but for the last, and the most parts.
    /// S3: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html>; Google's multipart interface
    /// has the same; Azure: 50,000 blocks of any size
    /// (<https://learn.microsoft.com/rest/api/storageservices/put-block-list>).
    pub(crate) fn part_limits(self) -> (u64, u64) {
        match self {
            Scheme::S3 | Scheme::Google => (5 << 20, 10_000),
            Scheme::Azure => (4096, 50_000),
        }
    }

    /// The variables that say who asks.
    pub(crate) fn credentials(self) -> &'static str {
        match self {
            Scheme::S3 => {
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, where there is one)"
            }
            Scheme::Google => "GOOGLE_SERVICE_ACCOUNT (the path of a key file)",
            Scheme::Azure => "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
        }
    }

    /// The variable that says where the server is.
    pub(crate) fn endpoint(self) -> &'static str {
        match self {
            Scheme::S3 => "AWS_ENDPOINT_URL",
            Scheme::Google => "GOOGLE_BASE_URL",
            Scheme::Azure => "AZURE_ENDPOINT",
        }
    }
}

/// Bucket (or container) and key (or prefix).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) named: String,
    pub(crate) scheme: Scheme,
    pub(crate) bucket: String,
    pub(crate) key: Path,
}

impl Address {
    /// Reads an address; None where it is none but a path.
    ///
    /// # Errors
    /// A scheme that is no store's, no bucket, no key.
    pub(crate) fn parse(named: &str) -> Result<Option<Address>, Failure> {
        let Some(place) = Address::place(named)? else { return Ok(None) };
        let Address { scheme, bucket, key, .. } = &place;
        if key.as_ref().is_empty() || named.ends_with('/') {
            return Err(Failure::usage(format!(
                "{named}: no key is named; use {}://{bucket}/KEY",
                scheme.as_str()
            )));
        }
        Ok(Some(place))
    }

    /// The same, where a prefix or the whole bucket will do.
    ///
    /// # Errors
    /// A scheme that is no store's, no bucket.
    pub(crate) fn place(named: &str) -> Result<Option<Address>, Failure> {
        let Some((word, rest)) = named.split_once("://") else { return Ok(None) };
        let usage = |words: String| Failure::usage(format!("{named}: {words}"));
        let Some(scheme) = Scheme::of(word) else {
            return Err(usage(format!(
                "'{word}' is no store that this program writes to; use s3://, gs://, az://, a path, '-' or \
                 'null:'"
            )));
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(usage(format!("no bucket is named; use {word}://BUCKET/KEY")));
        }
        let key = Path::parse(key.trim_end_matches('/'))
            .map_err(|error| usage(format!("no key that a store takes: {error}")))?;
        Ok(Some(Address { named: named.into(), scheme, bucket: bucket.into(), key }))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_scheme_bucket_and_key() {
        let address = Address::parse("s3://bucket/some/key.bin").unwrap().unwrap();
        assert_eq!((address.bucket.as_str(), address.key.as_ref()), ("bucket", "some/key.bin"));
        assert_eq!(address.scheme, Scheme::S3);
        assert_eq!(Address::parse("az://c/k").unwrap().unwrap().scheme, Scheme::Azure);
        assert_eq!(Address::parse("gs://c/a b%20c").unwrap().unwrap().key.as_ref(), "a b%20c");
        assert_eq!(Address::parse("dir/file").unwrap(), None);
    }

    #[test]
    fn what_is_no_address_is_told_with_what_would_be() {
        let words = |named: &str| Address::parse(named).unwrap_err().words;
        assert!(words("ftp://host/file").contains("'ftp' is no store"));
        assert!(words("s3://").contains("s3://BUCKET/KEY"));
        assert!(words("s3:///key").contains("no bucket"));
        assert!(words("s3://bucket").contains("s3://bucket/KEY"));
        assert!(words("s3://bucket/").contains("s3://bucket/KEY"));
        assert!(words("s3://bucket/dir/").contains("no key"));
        assert!(words("s3://bucket/a//b").contains("no key that"));
    }
}
