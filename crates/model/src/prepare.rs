//! What has to change on a host to become what a context says.
