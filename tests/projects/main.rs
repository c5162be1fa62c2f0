//! Generated projects are formatted, free of warnings, tested, rendered, deployed and run, in every state that commands leave them in.
//!
//! All are built into one target folder, so that only the first one pays for the third-party crates.

#[path = "../support/mod.rs"]
mod support;
mod webhooks;

mod certificates;
mod conversion;
mod dev;
mod documents;
mod generator;
mod guide;
mod kinds;
mod library;
mod markers;
mod permissions;
mod project;
mod states;
mod third_party;
