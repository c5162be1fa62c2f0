//! One rule of a role.

use std::collections::BTreeSet;

/// Names, each once and in order.
pub type Set = BTreeSet<String>;

/// One rule of a role; `core` is written as the empty group already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    pub groups: Set,
    pub resources: Set,
    pub names: Set,
    pub urls: Set,
    pub verbs: Set,
}
