//! A kind for each mistake, so that the lints are tested on the real output of derive macros.

#![allow(missing_docs, reason = "the name of each kind describes its mistake")]

pub mod attributes;
pub mod cronjob;
pub mod disagreements;
pub mod enums;
pub mod lists;
pub mod paths;
pub mod random;
pub mod rules;
pub mod shapes;
pub mod values;
pub mod versions;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// A kind and the function that creates its definition, which panics for some.
pub type Fixture = (&'static str, fn() -> CustomResourceDefinition);

/// Every fixture, in the order of the modules.
#[must_use]
pub fn all() -> Vec<Fixture> {
    [
        attributes::ALL,
        enums::ALL,
        lists::ALL,
        paths::ALL,
        rules::ALL,
        shapes::ALL,
        values::ALL,
    ]
    .concat()
}

/// The fixtures of a module: each kind `X` has the type `XSpec`.
macro_rules! fixtures {
    ($($kind:ident),* $(,)?) => {
        pub const ALL: &[$crate::Fixture] = &[$((stringify!($kind), <$kind as kube::CustomResourceExt>::crd)),*];
    };
}
use fixtures;
