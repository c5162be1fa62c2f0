//! Self-managed certificates of webhooks: made, shared by all replicas, trusted by the API server, and renewed.
//!
//! Each serving certificate has a CA of its own, whose key is thrown away at once: it can never sign anything else. The
//! certificate lies in a Secret that all replicas share. A replica that finds a new one there adds its CA to the CA
//! bundles, beside the old one, and serves the certificate afterwards, so what it serves is always trusted. The old CA
//! is removed an hour later.
//!
//! A certificate covers the names in use by the replica that made it, and those of the certificate before it: replicas
//! of two versions may be called by different names. Names that are no longer in use are dropped at renewal.

mod ca_bundle;
mod pair;
mod rotator;
mod secret;

pub(crate) use self::rotator::Rotator;
