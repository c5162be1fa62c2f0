//! The webhooks, one file for each version of a kind.

mod batch_v1_cronjob;
// +kbr:scaffold:modules

use manager::Manager;

/// Registers all webhooks.
pub fn register(manager: &mut Manager) {
    batch_v1_cronjob::register(manager);
    // +kbr:scaffold:webhooks
}
