//! Object stores: S3 and what speaks its language, Google Cloud Storage, Azure Blob Storage.
//!
//! [`Address`] is what a user names, [`Store`] the way there, with every request counted. A stream goes to
//! an [`ObjectOutlet`], which uploads each buffer of the pool as a part and copies nothing;
//! [`read_back`] gets the object and holds it against what was sent.

mod address;
mod outlet;
mod parts;
mod read_back;
mod requests;
mod store;
mod trouble;
pub(crate) mod workload;

pub(crate) use address::Address;
pub(crate) use outlet::ObjectOutlet;
pub(crate) use parts::{adjusted, least_part};
pub(crate) use read_back::read_back;
pub(crate) use store::Store;
