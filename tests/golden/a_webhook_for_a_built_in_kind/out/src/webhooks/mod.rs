//! The webhooks, one file for each version of a kind.

mod core_v1_pod;
// +kbr:scaffold:modules

use manager::Manager;

/// Registers all webhooks.
pub fn register(manager: &mut Manager) {
    core_v1_pod::register(manager);
    // +kbr:scaffold:webhooks
}
