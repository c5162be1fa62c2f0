//! A kind for each mistake, so that the linter is tested on what derives really print.

#![allow(
    missing_docs,
    reason = "each kind says in its name what is wrong with it"
)]

pub mod attributes;
pub mod cronjob;
pub mod enums;
pub mod lists;
pub mod paths;
pub mod random;
pub mod rules;
pub mod shapes;
pub mod values;
pub mod versions;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// A kind and how its definition is made, which panics for some.
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

/// The fixtures of a module: kinds that are a `Spec` of that name.
macro_rules! fixtures {
    ($($kind:ident),* $(,)?) => {
        pub const ALL: &[$crate::Fixture] = &[$((stringify!($kind), <$kind as kube::CustomResourceExt>::crd)),*];
    };
}
use fixtures;
