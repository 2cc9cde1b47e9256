//! Runs against each other.
