//! The webhooks, one file a version of a kind.

mod crew_v1_captain;
// +kbr:scaffold:modules

use manager::Manager;

/// Tells the manager what all of them serve.
pub fn register(manager: &mut Manager) {
    crew_v1_captain::register(manager);
    // +kbr:scaffold:webhooks
}
