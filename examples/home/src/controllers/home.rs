//! The `home` controller for `Home`: writes the temperature of each room to a `ConfigMap`, which the thermostats read.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

// The hub: it has everything that `v1` has. The API server converts objects of `v1`.
use api::ajd::v2::Home;

use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};
use kube::ResourceExt;
use manager::{Action, Context, Manager, metadata};
use serde_json::json;

/// The temperature in degrees Celsius at which no pipe freezes.
const FROST: &str = "7";

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=ajd.my.domain,resources=homes,verbs=get;list;watch
// +kbr:rbac:groups=ajd.my.domain,resources=homes/status,verbs=patch
// +kbr:rbac:groups=core,resources=configmaps,verbs=get;list;watch;create;patch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<Home>("home")
        .owns(metadata::<ConfigMap>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .reconcile(reconcile);
}

/// Reconciles one `Home`. Runs whenever the object or its `ConfigMap` changes, when its owners come back, and again after an error.
async fn reconcile(home: Arc<Home>, cx: Context<Home>) -> anyhow::Result<Action> {
    let away = away_until(&home, cx.now());
    cx.apply(&thermostats(&home, away.is_some())?).await?;
    report(&cx, away);
    cx.ready("Set", "every thermostat has its temperature");
    Ok(away.map_or(Action::await_change(), Action::requeue_at))
}

/// When the owners come back; `None` if they are at home.
fn away_until(home: &Home, now: Timestamp) -> Option<Timestamp> {
    let until = home.spec.away_until.as_ref()?.0;
    (until > now).then_some(until)
}

/// Reports the heating in the status, and a change of it as an event.
fn report(cx: &Context<Home>, away: Option<Timestamp>) {
    let heating = away.map_or("Comfort", |_| "Away");
    let before = cx.status(|status| std::mem::replace(&mut status.heating, heating.to_owned()));
    if before == heating {
        return;
    }
    let note = away.map_or("the heating is on".to_owned(), |until| {
        format!("the heating only prevents frost until {until}")
    });
    cx.event(heating, note);
}

/// The temperature of each room, by its name.
fn thermostats(home: &Home, away: bool) -> anyhow::Result<ConfigMap> {
    let spec = &home.spec;
    let degrees = |room: &api::ajd::v2::Room| {
        let own = room.temperature.as_ref().unwrap_or(&spec.temperature);
        if away {
            FROST.to_owned()
        } else {
            own.0.clone()
        }
    };
    let rooms = spec.rooms.iter();
    let data: BTreeMap<_, _> = rooms.map(|room| (&room.name, degrees(room))).collect();
    manager::from_json(json!({ "metadata": { "name": home.name_any() }, "data": data }))
}
