//! The checklist: a probe held against a context.
