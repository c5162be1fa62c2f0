//! Controllers of kube's own runtime, which know nothing of kbr-manager.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kbr_testing::{External, Simulation, simulate_client};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    runtime::{
        Controller,
        controller::Action,
        finalizer::{self, Event, finalizer},
        reflector, watcher,
    },
};
use serde_json::json;

/// A ship, which is a `ConfigMap` with the size of its crew.
fn ship(name: &str, crew: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some([("crew".to_owned(), crew.to_owned())].into()),
        ..ConfigMap::default()
    }
}

fn ours() -> PatchParams {
    PatchParams::apply("plain").force()
}

/// An object that a ship owns, as JSON.
fn owned(ship: &ConfigMap, kind: &str, meta: &serde_json::Value) -> serde_json::Value {
    let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": meta});
    object["metadata"]["ownerReferences"] = json!([ship.controller_owner_ref(&())]);
    object
}

fn retry<E>(_: Arc<ConfigMap>, _: &E, _: Arc<Client>) -> Action {
    Action::requeue(Duration::from_secs(2))
}

fn controller(client: &Client) -> Controller<ConfigMap> {
    let ships = Api::default_namespaced(client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    Controller::new(ships, watcher::Config::default()).owns(secrets, watcher::Config::default())
}

/// Creates a key with a generated name, and then says in an annotation that it has: between the two, the process may end.
mod generated {
    use super::*;

    async fn reconcile<const BUGGY: bool>(
        ship: Arc<ConfigMap>,
        client: Arc<Client>,
    ) -> Result<Action, kube::Error> {
        let secrets: Api<Secret> = Api::default_namespaced((*client).clone());
        let name = ship.name_any();
        if !BUGGY {
            let key = owned(&ship, "Secret", &json!({"name": format!("{name}-key")}));
            secrets
                .patch(&format!("{name}-key"), &ours(), &Patch::Apply(key))
                .await?;
        } else if !ship.annotations().contains_key("has-key") {
            let key = owned(
                &ship,
                "Secret",
                &json!({"generateName": format!("{name}-key-")}),
            );
            let key = serde_json::from_value(key).map_err(kube::Error::SerdeError)?;
            secrets.create(&PostParams::default(), &key).await?;
            let ships: Api<ConfigMap> = Api::default_namespaced((*client).clone());
            let mark = json!({"metadata": {"annotations": {"has-key": "yes"}}});
            ships
                .patch(&name, &PatchParams::default(), &Patch::Merge(mark))
                .await?;
        }
        Ok(Action::await_change())
    }

    async fn run<const BUGGY: bool>(client: Client) {
        let context = Arc::new(client.clone());
        let controller = controller(&client).run(reconcile::<BUGGY>, retry, context);
        controller.for_each(async |_| ()).await;
    }

    pub fn simulation<const BUGGY: bool>() -> Simulation {
        simulate_client(run::<BUGGY>).object(&ship("argo", "1"))
    }
}

/// Registers a ship with a service, and removes its own finalizer before it unregisters the ship.
mod unregistered {
    use super::*;

    type Harbor = External<std::collections::BTreeMap<String, String>>;

    async fn cleaned(
        ship: &ConfigMap,
        client: &Client,
        harbor: &Harbor,
    ) -> Result<Action, kube::Error> {
        let ships: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let name = ship.name_any();
        if ship.meta().deletion_timestamp.is_some() {
            let none = json!({"metadata": {"finalizers": null}});
            ships
                .patch(&name, &PatchParams::default(), &Patch::Merge(none))
                .await?;
            let left = harbor.call("unregisters a ship", |ships| ships.remove(&name));
            drop(left.await);
            return Ok(Action::await_change());
        }
        if ship.finalizers().is_empty() {
            let ours = json!({"metadata": {"finalizers": ["example.com/harbor"]}});
            ships
                .patch(&name, &PatchParams::default(), &Patch::Merge(ours))
                .await?;
        }
        registered(ship, harbor).await
    }

    async fn registered(ship: &ConfigMap, harbor: &Harbor) -> Result<Action, kube::Error> {
        let name = ship.name_any();
        let done = harbor.call("registers a ship", |ships| {
            ships.insert(name.clone(), "here".to_owned())
        });
        match done.await {
            Ok(_) => Ok(Action::await_change()),
            Err(_) => Ok(Action::requeue(Duration::from_secs(2))),
        }
    }

    async fn finalized(
        ship: Arc<ConfigMap>,
        client: &Client,
        harbor: &Harbor,
    ) -> Result<Action, finalizer::Error<std::io::Error>> {
        let ships: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let other = |error: &dyn std::fmt::Display| std::io::Error::other(error.to_string());
        finalizer(
            &ships,
            "example.com/harbor",
            ship,
            async |event| match event {
                Event::Apply(ship) => {
                    let done = registered(&ship, harbor).await;
                    done.map_err(|error| other(&error))
                }
                Event::Cleanup(ship) => {
                    let name = ship.name_any();
                    let left = harbor.call("unregisters a ship", |ships| ships.remove(&name));
                    left.await.map_err(|error| other(&error))?;
                    Ok(Action::await_change())
                }
            },
        )
        .await
    }

    pub fn simulation<const BUGGY: bool>() -> Simulation {
        let harbor = Harbor::new("harbor");
        let run = move |client: Client| {
            let harbor = harbor.clone();
            async move {
                let context = Arc::new(client.clone());
                let reconcile = move |ship: Arc<ConfigMap>, client: Arc<Client>| {
                    let harbor = harbor.clone();
                    async move {
                        let done = if BUGGY {
                            cleaned(&ship, &client, &harbor)
                                .await
                                .map_err(|error| error.to_string())
                        } else {
                            let done = finalized(ship, &client, &harbor).await;
                            done.map_err(|error| error.to_string())
                        };
                        done.map_err(std::io::Error::other)
                    }
                };
                let controller = controller(&client).run(reconcile, retry, context);
                controller.for_each(async |_| ()).await;
            }
        };
        simulate_client(run).object(&ship("argo", "1"))
    }
}

/// Counts the crew in its cache, which may be out of date, and creates those who are missing under generated names.
mod counted {
    use super::*;

    async fn reconcile<const BUGGY: bool>(
        ship: Arc<ConfigMap>,
        client: &Client,
        crew: &reflector::Store<Secret>,
    ) -> Result<Action, kube::Error> {
        let secrets: Api<Secret> = Api::default_namespaced(client.clone());
        let name = ship.name_any();
        let wanted = ship
            .data
            .as_ref()
            .and_then(|data| data["crew"].parse().ok());
        let wanted: usize = wanted.unwrap_or_default();
        if BUGGY {
            let here = crew.state().len();
            for _ in here..wanted {
                let sailor = owned(
                    &ship,
                    "Secret",
                    &json!({"generateName": format!("{name}-")}),
                );
                let sailor = serde_json::from_value(sailor).map_err(kube::Error::SerdeError)?;
                secrets.create(&PostParams::default(), &sailor).await?;
            }
            return Ok(Action::await_change());
        }
        for at in 0..wanted {
            let sailor = format!("{name}-{at}");
            let object = owned(&ship, "Secret", &json!({"name": sailor}));
            secrets
                .patch(&sailor, &ours(), &Patch::Apply(object))
                .await?;
        }
        let all = secrets.list(&ListParams::default()).await?;
        let number = |secret: &Secret| secret.name_any().rsplit('-').next()?.parse::<usize>().ok();
        for one in all
            .iter()
            .filter(|one| number(one).is_some_and(|at| at >= wanted))
        {
            match secrets
                .delete(&one.name_any(), &DeleteParams::default())
                .await
            {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                done => drop(done?),
            }
        }
        Ok(Action::await_change())
    }

    async fn run<const BUGGY: bool>(client: Client) {
        let secrets: Api<Secret> = Api::default_namespaced(client.clone());
        let (crew, writer) = reflector::store();
        let stream = reflector::reflector(writer, watcher(secrets, watcher::Config::default()));
        let context = Arc::new(client.clone());
        let reconcile = move |ship, client: Arc<Client>| {
            let crew = crew.clone();
            async move { reconcile::<BUGGY>(ship, &client, &crew).await }
        };
        let controller = controller(&client).run(reconcile, retry, context);
        let both = futures_util::future::join(
            controller.for_each(async |_| ()),
            stream.for_each(async |_| ()),
        );
        both.await;
    }

    pub fn simulation<const BUGGY: bool>() -> Simulation {
        simulate_client(run::<BUGGY>).object(&ship("argo", "2"))
    }
}

fn story(simulation: Simulation) -> String {
    let found = simulation.check().expect_err("the bug is found");
    found.to_string()
}

#[test]
fn a_generated_name_that_is_not_recorded_is_found_in_a_plain_controller() {
    let story = story(generated::simulation::<true>());
    assert!(story.contains("ends right after write 1"), "{story}");
    generated::simulation::<false>().run();
}

#[test]
fn a_finalizer_that_goes_too_early_is_found_in_a_plain_controller() {
    let story = story(unregistered::simulation::<true>());
    assert!(story.contains("harbor"), "{story}");
    unregistered::simulation::<false>().run();
}

#[test]
fn a_count_of_a_cache_is_found_in_a_plain_controller() {
    let story = story(counted::simulation::<true>());
    assert!(story.contains("Secret default/argo-"), "{story}");
    counted::simulation::<false>().run();
}

#[test]
fn equal_histories_of_a_plain_controller_are_equal() {
    for seed in 0..5 {
        let trace = || counted::simulation::<false>().trace("crash-after@1", seed);
        let first = trace();
        assert!(first.contains("argo-1"), "{first}");
        assert_eq!(first, trace());
    }
}
