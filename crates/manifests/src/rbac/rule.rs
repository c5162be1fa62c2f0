//! One rule of a role.

use std::collections::BTreeSet;

/// Unique names, sorted.
pub type Set = BTreeSet<String>;

/// One rule of a role; `core` is already replaced by the empty group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    pub groups: Set,
    pub resources: Set,
    pub names: Set,
    pub urls: Set,
    pub verbs: Set,
}
