//! Rewrites the objects of a kind after its stored version has changed, so that the old version can be removed.
//!
//! The API server stores an object in the version that the CRD marks `storage`, and lists in `status.storedVersions`
//! every version that some object may still be stored in. After a change, all objects have to be written once; then the
//! old version can leave the list, and later the CRD. Source: "Upgrade existing objects to a new stored version" in the
//! documentation of Kubernetes, and its own migrator (`pkg/controller/storageversionmigrator`).

mod definition;
mod delegate;
mod rewrite;
pub(crate) mod run;
pub(crate) mod settings;

#[cfg(test)]
mod tests;
