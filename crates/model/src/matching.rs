//! Which disks of a host are a context's volumes.
