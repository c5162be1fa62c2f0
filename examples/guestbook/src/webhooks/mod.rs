//! The webhooks, one file for each version of a kind.

mod webapp_v1_guestbook;
// +kbr:scaffold:modules

use std::sync::Arc;

use manager::Manager;

use crate::images::Images;

/// Registers all webhooks.
pub fn register(manager: &mut Manager, images: &Arc<Images>) {
    webapp_v1_guestbook::register(manager, images);
    // +kbr:scaffold:webhooks
}
