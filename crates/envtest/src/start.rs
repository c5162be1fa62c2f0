//! The start of a control plane or a cluster, until it is ready.

use std::collections::HashSet;

use super::assets::Assets;
use super::control_plane::ControlPlane;
use super::egress::{self, Services};
use super::folder::{self, Folder};
use super::servers::free_ports;
use super::setup::Setup;
use super::{audit, nodes};

pub use super::options::{Cluster, Options};

/// The number of attempts to start if another program takes a port.
pub const ATTEMPTS: usize = 5;

/// The readiness check without two parts that take a second: RBAC's default roles, which `system:masters` does not
/// need, and the priority classes. CRDs are installed meanwhile.
const SERVING: &str = "/readyz?exclude=poststarthook/rbac/bootstrap-roles&exclude=poststarthook/scheduling/bootstrap-system-priority-classes";

/// Starts servers that answer the administrator's requests. Call [`wait_until_ready`] next.
pub fn start(assets: &Assets, options: &Options) -> anyhow::Result<ControlPlane> {
    folder::remove_stale(options.progress);
    let mut attempt = 1;
    loop {
        let folder = Folder::create()?;
        let logs = options.logs.unwrap_or(&folder.path);
        let setup = Setup::new(assets, &folder.path, logs, free_ports()?);
        match start_in(folder, setup, options)? {
            Started::Yes(plane) => return Ok(*plane),
            Started::LostItsPort(error) if attempt == ATTEMPTS => return Err(error),
            Started::LostItsPort(_) => attempt += 1,
        }
        options
            .progress
            .report("starting", "again, because another program took a port");
    }
}

/// The outcome of one attempt.
pub enum Started {
    /// They answer.
    Yes(Box<ControlPlane>),
    /// Another program uses one of the ports.
    LostItsPort(anyhow::Error),
}

/// Starts servers in `folder`, where certificates and data may be left from an earlier start.
pub fn start_in(folder: Folder, mut setup: Setup, options: &Options) -> anyhow::Result<Started> {
    setup.cluster = options.cluster.is_some();
    setup.clone = options.clone;
    let controllers = if setup.cluster {
        ", and a cluster's controllers"
    } else {
        ""
    };
    options
        .progress
        .report("starting", &format!("etcd and kube-apiserver{controllers}"));
    if let Some(log) = options.audit {
        audit::prepare(&folder.path, log)?;
        setup.audit = Some(log.to_owned());
    }
    let services = options.cluster.map(|it| it.services.clone());
    if let Some(services) = services.or(options.clone.then(Services::new)) {
        egress::write(&folder.path, &services)?;
    }
    let mut plane = ControlPlane::launch(folder, setup, options)?;
    match plane.wait_for(SERVING, |_| true) {
        Err(error) if plane.lost_its_port() => return Ok(Started::LostItsPort(error)),
        Err(error) => return Err(error),
        Ok(()) => {}
    }
    match options.cluster {
        // What acts on the objects of a clone starts after they are loaded.
        _ if options.clone => {}
        Some(cluster) => start_controllers(&mut plane, cluster)?,
        None => plane.collect_garbage(HashSet::new())?,
    }
    Ok(Started::Yes(Box::new(plane)))
}

/// Starts the controllers and nodes of a cluster. [`start`] has done so unless it is for a clone, whose objects come first.
///
/// # Errors
/// The API server or a controller does not answer.
pub fn start_controllers(plane: &mut ControlPlane, cluster: &Cluster) -> anyhow::Result<()> {
    // kube-controller-manager ends if this takes ten more seconds, as it may on a busy machine.
    plane.wait_for("/healthz", |_| true)?;
    plane.start_controllers()?;
    nodes::create(plane, cluster.nodes)
}

/// Waits until the server has finished its start and the namespace `default` exists; in a cluster, until Pods can run.
pub fn wait_until_ready(plane: &ControlPlane, options: &Options) -> anyhow::Result<()> {
    plane.wait_for("/readyz", |_| true)?;
    plane.wait_for("/api/v1/namespaces/default", |_| true)?;
    match options.cluster {
        Some(_) if !options.clone => nodes::wait(plane),
        _ => Ok(()),
    }
}
