//! A clone -> an API server or a cluster that goes on from there.

use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::start::Cluster;

use super::cloned::Cloned;
use super::load::load;
use super::rollouts;

/// Puts the objects of the clone into the etcd of a control plane that was started for a clone, and starts the controllers of a cluster
/// then. Returns the objects that are not served as they were read, a sentence each.
///
/// # Errors
/// A server does not answer, or refuses.
pub fn restore(
    plane: &mut ControlPlane,
    cloned: &Cloned,
    cluster: Option<&Cluster>,
) -> anyhow::Result<Vec<String>> {
    let lost = load(plane, cloned)?;
    if let Some(cluster) = cluster {
        rollouts::start_controllers(plane, cloned, cluster)?;
    }
    Ok(lost)
}
