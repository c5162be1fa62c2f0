//! Compiles the Rust in docs/ and in the README of kbr-envtest, and runs it unless it is marked `no_run`:
//! `cargo test --doc --package book`.
//!
//! It has the kinds that the pages use, under the names that they have in a project.

pub mod crew;

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
    recipe_conditions: "recipes/conditions.md",
    recipe_external: "recipes/external.md",
    recipe_generated: "recipes/generated.md",
    recipe_large: "recipes/large.md",
    recipe_namespaces: "recipes/namespaces.md",
    recipe_pruning: "recipes/pruning.md",
    recipe_replicas: "recipes/replicas.md",
    recipe_secrets: "recipes/secrets.md",
    recipe_services: "recipes/services.md",
    recipe_tenants: "recipes/tenants.md",
    recipe_versions: "recipes/versions.md",
    simulation: "simulation.md",
    testing: "testing.md",
    webhooks: "webhooks.md",
}
