//! Formats, lints, tests, renders, deploys and runs generated projects in every state that commands produce.
//!
//! All projects share a target folder, so that third-party crates are built only once.

#[path = "../support/terminal.rs"]
mod pty;
#[path = "../support/mod.rs"]
mod support;
mod webhooks;

mod certificates;
mod conversion;
mod dev;
mod drift;
mod examples;
mod generator;
mod guide;
mod helm;
mod kinds;
mod library;
mod markers;
mod mutants;
mod older;
mod permissions;
mod place;
mod project;
mod screen;
mod states;
mod third_party;
