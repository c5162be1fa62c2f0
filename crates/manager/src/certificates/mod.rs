//! Self-managed certificates of webhooks: created, shared by all replicas, added to CA bundles, and renewed.
//!
//! Each serving certificate has its own CA, whose key is discarded at once, so it can never sign anything else. The
//! certificate is in a Secret that all replicas share. A replica that finds a new certificate there first adds its CA
//! to the CA bundles, beside the old one, and then serves the certificate, so the API server always trusts what is
//! served. The old CA is removed an hour later.
//!
//! A certificate covers the names in use by the replica that created it, and the names of the previous certificate,
//! because replicas of two versions may have different names. Names that are no longer in use are dropped at renewal.

mod ca_bundle;
mod pair;
mod rotator;
mod secret;

pub(crate) use self::rotator::Rotator;
