//! What no other run has: an id and a seed.

/// Names a run: its start, and its process where two start in one second.
pub(crate) fn run_id() -> String {
    format!("{}-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"), std::process::id())
}

/// For the content and the order of a run.
pub(crate) fn seed() -> u64 {
    jiff::Timestamp::now().as_nanosecond() as u64 ^ u64::from(std::process::id()).rotate_left(40)
}
