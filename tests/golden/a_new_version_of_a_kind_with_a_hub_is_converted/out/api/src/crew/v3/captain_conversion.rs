//! Converts `Captain` from `v3` to the hub version, `v2`, and back.

use super::super::v2 as hub;
use super::Captain;
use crate::conversion::{Spoke, carry};

impl Spoke for Captain {
    type Hub = hub::Captain;
}

impl TryFrom<Captain> for hub::Captain {
    type Error = serde_json::Error;

    fn try_from(object: Captain) -> Result<Self, Self::Error> {
        // `carry` copies the fields that both versions have. Convert the others here, until the round-trip test in
        // `src/webhooks` passes.
        Ok(Self {
            metadata: object.metadata,
            spec: carry(&object.spec)?,
            status: carry(&object.status)?,
        })
    }
}

impl TryFrom<hub::Captain> for Captain {
    type Error = serde_json::Error;

    fn try_from(object: hub::Captain) -> Result<Self, Self::Error> {
        Ok(Self {
            metadata: object.metadata,
            spec: carry(&object.spec)?,
            status: carry(&object.status)?,
        })
    }
}
