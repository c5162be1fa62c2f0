//! The webhooks, one file a version of a kind.

mod core_v1_pod;
// +kbr:scaffold:modules

use manager::Manager;

/// Tells the manager what all of them serve.
pub fn register(manager: &mut Manager) {
    core_v1_pod::register(manager);
    // +kbr:scaffold:webhooks
}
