//! Certificates of webhooks that need nobody: made, shared by all replicas, trusted by the API server, and renewed.
//!
//! A new authority is made for each serving certificate, and its key is thrown away at once: nothing else can ever be
//! signed by what the API server is told to trust. The certificate lies in a Secret that all replicas share. A replica
//! that sees a new one there first sees to it that the API server trusts it, beside the old one, and serves it then; so
//! there is no moment in which what one serves is not trusted. An hour later the old one is trusted no more.
//!
//! A certificate has the names that its maker is called by, and those that the one before had: replicas of two versions
//! may be called by different ones. What nobody is called by any more goes when it is renewed.

mod pair;
mod rotator;
mod secret;
mod trust;

pub(crate) use self::rotator::Rotator;
