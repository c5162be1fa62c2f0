//! A `CustomResourceDefinition` -> the Rust of its types, whose own definition is equal to it.
//!
//! Each node of a schema becomes a type ([`node`], [`collect`], [`build`]). What the macros of schemars and kube make of that type
//! is known ([`predict`]); the difference to the node, its overlay, becomes attributes ([`attributes`]). So the definition of the
//! types is that of the file whatever a type can express, and what it cannot express is kept word for word ([`kept`]).

mod attributes;
mod build;
mod collect;
mod defaults;
mod definition;
mod document;
mod functions;
mod imports;
mod kept;
mod keyword;
mod kind;
mod known;
mod model;
mod names;
mod node;
mod normal;
mod predict;
mod render;
mod root;
mod rules;
mod share;
mod shared;
mod shield;
mod text;

pub use definition::{Definition, Version};
pub use document::{read, read_all};
pub use kept::Kept;
pub use normal::normal;
pub use share::{SharedFile, shared};
pub use shared::{SHARED, Shared, file_path, list_path};

use collect::Groups;
use root::Root;

/// The file of the crate in `folder` with the CRD that its types come from, for the next import and for what is allowed.
pub fn source_path(folder: &str, group: &str, plural: &str) -> String {
    format!("{folder}/imported/{group}_{plural}.yaml")
}

/// The types of a version.
#[derive(Clone, Debug)]
pub struct Types {
    /// The version: `v1`.
    pub version: String,
    /// The text of the file.
    pub text: String,
    /// The name of the struct from which kube's macro generates the kind, and of the status, if the file has one.
    pub names: Vec<String>,
    /// What types cannot express.
    pub kept: Vec<Kept>,
}

impl Definition {
    /// The types of each version.
    pub fn types(&self) -> Vec<Types> {
        self.types_beside(&Shared::default())
    }

    /// The types of each version, without those that it shares with other kinds.
    pub fn types_beside(&self, shared: &Shared) -> Vec<Types> {
        let types = self.versions.iter().map(|version| {
            let root = Root::new(&self.kind, version);
            let groups = Groups::collect(&root.roots(), shared.of(&version.name));
            let model = build::build(&self.kind, &groups);
            Types {
                version: version.name.clone(),
                text: render::file(self, version, &root, &model),
                names: root.types.iter().map(|(name, _)| name.clone()).collect(),
                kept: kept::kept(&groups, &model),
            }
        });
        types.collect()
    }
}

#[cfg(test)]
mod tests;
