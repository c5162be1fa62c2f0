//! Compiles the Rust in docs/ and in the README of kbr-envtest, and runs it unless it is marked `no_run`:
//! `cargo test --doc --package book`; the recipes are modules, for clippy: `cargo test --lib --package book`.
//!
//! It has the kinds that the pages use, under the names that they have in a project.

pub mod crew;

#[cfg(test)]
extern crate self as api;

/// Includes pages, whose blocks of Rust are the tests of their modules.
macro_rules! pages {
    ($($name:ident: $path:literal),* $(,)?) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../docs/", $path))]
            mod $name {}
        )*
    };
}

pages! {
    any_controller: "any-controller.md",
    clients: "clients.md",
    concepts: "concepts.md",
    debugging: "debugging.md",
    from_kube: "from-kube.md",
    introduction: "introduction.md",
    envtest: "../crates/envtest/README.md",
    markers: "markers.md",
    reconciles: "reconciles.md",
    simulation: "simulation.md",
    testing: "testing.md",
    webhooks: "webhooks.md",
}

#[cfg(test)]
#[allow(
    dead_code,
    clippy::disallowed_names,
    clippy::duplicated_attributes,
    clippy::unused_async,
    reason = "the lints of a project are in scaffolds/v1/init/Cargo.toml.tera; no `main` uses these modules"
)]
mod recipes {
    include!(concat!(env!("OUT_DIR"), "/recipes.rs"));
}
