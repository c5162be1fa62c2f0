//! The webhooks, one file for each version of a kind.

mod crew_v1_captain;
// +kbr:scaffold:modules

use manager::Manager;

/// Registers all webhooks.
pub fn register(manager: &mut Manager) {
    crew_v1_captain::register(manager);
    // +kbr:scaffold:webhooks
}
