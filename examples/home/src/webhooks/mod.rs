//! The webhooks, one file for each version of a kind.

mod ajd_v1_home;
mod ajd_v2_home;
// +kbr:scaffold:modules

use manager::Manager;

/// Registers all webhooks.
pub fn register(manager: &mut Manager) {
    ajd_v1_home::register(manager);
    ajd_v2_home::register(manager);
    // +kbr:scaffold:webhooks
}
