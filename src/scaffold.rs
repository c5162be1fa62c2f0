//! Embedded folder + variables -> plan. Pure.

use serde::Serialize;

use crate::plan::Op;

/// Renders the set `scaffolds/v1/<set>/`.
pub fn render(_set: &str, _vars: &impl Serialize) -> anyhow::Result<Vec<Op>> {
    todo!()
}
