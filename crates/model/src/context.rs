//! Whether a hardware context holds together.
