//! Small versions of the controllers that Anvil (OSDI'24) verifies: `ReplicaSet`, `Deployment`, `StatefulSet`, and a message broker.
//! They have no bug.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec},
    core::v1::{ConfigMap, Pod, Secret},
};
use kbr_testing::Oracle;
use manager::{Context, Manager, kind, metadata};

use crate::kinds::{
    Reconciled, Ship, done, flag, histories, map, name, pods_of, service, ships, voyage,
};

#[track_caller]
fn is_clean(register: fn(&mut Manager)) {
    println!(
        "{}",
        voyage(register)
            .kubelet()
            .histories(histories())
            .check()
            .unwrap()
    );
}

fn pod(name: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(name.to_owned());
    pod
}

fn is_running(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    status.is_some_and(|status| status.phase.as_deref() == Some("Running"))
}

/// As many Pods as the spec wants, with names that the API server makes up.
#[test]
fn a_replica_set_has_as_many_pods_as_it_wants() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let pods = cx.children::<Pod>()?;
        let (wanted, found) = (usize::try_from(ship.spec.sails)?, pods.len());
        for _ in found..wanted {
            let mut pod = Pod::default();
            pod.metadata.generate_name = Some(name(&ship, ""));
            cx.create(&pod).await?;
        }
        for pod in pods.iter().skip(wanted) {
            cx.delete(&**pod).await?;
        }
        let running = pods.iter().filter(|pod| is_running(pod)).count();
        let running = u32::try_from(running)?;
        cx.status(|status| status.count = running);
        done()
    }
    fn register(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship").owns(kind::<Pod>());
        ships.reconcile(reconcile);
    }
    // An answer that is lost hides a creation, so a Pod more may come and go.
    let simulation = voyage(register).kubelet().histories(histories());
    let reason = "a Pod whose creation was not confirmed is replaced";
    println!(
        "{}",
        simulation.without(Oracle::Counts, reason).check().unwrap()
    );
}

/// A new child for each flag; the old ones go once the new one is available.
#[test]
fn a_deployment_keeps_the_old_version_until_the_new_one_is_available() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let wanted = name(&ship, &flag(&ship));
        let mut child = Deployment::default();
        child.metadata.name = Some(wanted.clone());
        let (selector, template) = pods_of(&wanted);
        child.spec = DeploymentSpec {
            replicas: Some(i32::try_from(ship.spec.sails)?),
            selector,
            template,
            ..DeploymentSpec::default()
        };
        let current = cx.apply(&child).await?;
        let status = current.status.as_ref();
        let available = status.and_then(|status| status.available_replicas);
        if available.unwrap_or_default() >= i32::try_from(ship.spec.sails)? {
            for old in cx.children::<Deployment>()? {
                if old.metadata.name != current.metadata.name {
                    cx.delete(&*old).await?;
                }
            }
        }
        done()
    }
    is_clean(|manager| {
        let ships = manager.controller::<Ship>("ship");
        ships.owns(kind::<Deployment>()).reconcile(reconcile);
    });
}

/// Pods in their order, each once the one before runs; the last one goes first. What they store stays.
#[test]
fn a_stateful_set_starts_and_ends_its_pods_in_order() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let pods: BTreeMap<_, _> = cx
            .children::<Pod>()?
            .into_iter()
            .map(|pod| (pod.metadata.name.clone().unwrap_or_default(), pod))
            .collect();
        for at in 0..ship.spec.sails {
            let pod_name = name(&ship, &at.to_string());
            cx.apply(&map(&format!("{pod_name}-data"), "kept", "yes"))
                .await?;
            match pods.get(&pod_name) {
                Some(pod) if is_running(pod) => {}
                Some(_) => return done(),
                None => {
                    cx.apply(&pod(&pod_name)).await?;
                    return done();
                }
            }
        }
        let number = |name: &String| {
            name.rsplit('-')
                .next()
                .and_then(|it| it.parse::<u32>().ok())
        };
        let surplus = pods
            .iter()
            .filter(|(name, _)| number(name) >= Some(ship.spec.sails));
        if let Some((_, last)) = surplus.max_by_key(|(name, _)| number(name)) {
            cx.delete(&**last).await?;
        }
        done()
    }
    fn register(manager: &mut Manager) {
        let ships = manager.controller::<Ship>("ship").owns(kind::<Pod>());
        ships.owns(metadata::<ConfigMap>()).reconcile(reconcile);
    }
    // The data of the Pods that are gone stays.
    let simulation = voyage(register)
        .kubelet()
        .ignore("ConfigMap default/argo-1-data")
        .histories(histories());
    println!("{}", simulation.check().unwrap());
}

/// A secret that is made once, a configuration, services, and a set of Pods that all of these are for.
#[test]
fn a_message_broker_has_all_its_parts() {
    async fn reconcile(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let cookie = name(&ship, "cookie");
        if cx.get::<Secret>(&*cookie)?.is_none() {
            let mut secret = Secret::default();
            secret.metadata.name = Some(cookie.clone());
            secret.string_data = Some([("cookie".to_owned(), "made up".to_owned())].into());
            cx.apply(&secret).await?;
        }
        cx.apply(&service(&name(&ship, "client"))).await?;
        cx.apply(&service(&name(&ship, "nodes"))).await?;
        cx.apply(&map(&name(&ship, "config"), "flag", &flag(&ship)))
            .await?;
        let mut set = StatefulSet::default();
        set.metadata.name = Some(name(&ship, "server"));
        set.metadata.annotations = Some([("config".to_owned(), flag(&ship))].into());
        let (selector, template) = pods_of(cx.name());
        set.spec = StatefulSetSpec {
            replicas: Some(i32::try_from(ship.spec.sails)?),
            selector,
            template,
            service_name: Some(name(&ship, "nodes")),
            ..StatefulSetSpec::default()
        };
        let set = cx.apply(&set).await?;
        let ready = set.status.as_ref().and_then(|status| status.ready_replicas);
        let ready = u32::try_from(ready.unwrap_or_default())?;
        cx.status(|status| status.count = ready);
        done()
    }
    is_clean(|manager| {
        let ships = ships(manager).owns(kind::<StatefulSet>());
        ships.owns(kind::<Secret>()).reconcile(reconcile);
    });
}
