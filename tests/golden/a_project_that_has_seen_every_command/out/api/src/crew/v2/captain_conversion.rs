//! `Captain` of `v2` as the hub, `v1`, and back.

use super::super::v1 as hub;
use super::Captain;
use crate::conversion::{Spoke, carry};

impl Spoke for Captain {
    type Hub = hub::Captain;
}

impl TryFrom<Captain> for hub::Captain {
    type Error = serde_json::Error;

    fn try_from(object: Captain) -> Result<Self, Self::Error> {
        // Fields that both versions have go across by themselves. Put here what becomes of the others, until the test
        // of `src/webhooks` that goes there and back finds nothing lost.
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
