//! What an array of a context amounts to: capacity, stripe, alignment.
