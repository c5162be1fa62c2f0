//! The webhooks, one file for each version of a kind.

mod core_v1_pod;
mod crew_v1_captain;
mod crew_v1alpha1_captain;
mod galley_v1_captain;
mod gateway_networking_k8s_io_v1_httproute;
// +kbr:scaffold:modules

use manager::Manager;

/// Registers all webhooks.
pub fn register(manager: &mut Manager) {
    core_v1_pod::register(manager);
    crew_v1alpha1_captain::register(manager);
    crew_v1_captain::register(manager);
    gateway_networking_k8s_io_v1_httproute::register(manager);
    galley_v1_captain::register(manager);
    // +kbr:scaffold:webhooks
}
