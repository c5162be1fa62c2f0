//! Operators with webhooks, which the API server of a simulation asks before it stores an object.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, Simulation, simulate};
use kube::CustomResourceExt as _;
use manager::{
    Context, Manager, kind, metadata,
    webhook::{Defaulter, FieldError, FieldErrors, Rejection, Request, Validator, Warnings},
};

use crate::kinds::{Reconciled, Ship, done, map, name, pair_in, ship, ships};

struct ShipWebhook;

/// A ship without a flag gets a white one.
impl Defaulter<Ship> for ShipWebhook {
    async fn default(&self, ship: &mut Ship, _cx: &Request<Ship>) -> Result<(), Rejection> {
        ship.spec.flag.get_or_insert_with(|| "white".to_owned());
        Ok(())
    }
}

/// A ship has at most five sails, and does not lose its sails at once.
impl Validator<Ship> for ShipWebhook {
    async fn validate_create(
        &self,
        ship: &Ship,
        _cx: &Request<Ship>,
    ) -> Result<Warnings, Rejection> {
        let mut errors = FieldErrors::default();
        if ship.spec.sails > 5 {
            let sails = ship.spec.sails.to_string();
            errors.push(FieldError::invalid("spec.sails", sails, "at most 5 sails"));
        }
        errors.check()?;
        Ok(Warnings::new())
    }

    async fn validate_update(
        &self,
        old: &Ship,
        new: &Ship,
        cx: &Request<Ship>,
    ) -> Result<Warnings, Rejection> {
        let fewer = new.spec.sails < old.spec.sails;
        if fewer && new.metadata.deletion_timestamp.is_none() {
            return Err(Rejection::forbidden("a ship keeps its sails"));
        }
        self.validate_create(new, cx).await
    }
}

fn with_webhooks(manager: &mut Manager) {
    manager.defaulter::<Ship>(ShipWebhook);
    manager.validator::<Ship>(ShipWebhook);
}

/// The log of a ship says which flag it has; a ship always has one.
async fn write_log(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
    let flag = ship.spec.flag.as_deref();
    let flag = flag.ok_or_else(|| anyhow::anyhow!("a ship without a flag"))?;
    cx.apply(&map(&name(&ship, "log"), "flag", flag)).await?;
    done()
}

fn register(manager: &mut Manager) {
    with_webhooks(manager);
    ships(manager).reconcile(write_log);
}

/// A ship without a flag, whose user asks for more sails than there may be, and then for less.
fn voyage(register: fn(&mut Manager)) -> Simulation {
    let mut argo = ship("argo");
    argo.spec.flag = None;
    let sails = |sails: u32| {
        move |api: &FakeApi| {
            api.edit::<Ship>("default", "argo", |ship| ship.spec.sails = sails);
        }
    };
    simulate(register)
        .object(&argo)
        .user("asks for four sails", sails(4))
        .user("asks for nine sails", sails(9))
        .user("asks for one sail", sails(1))
        .always("a ship has two to five sails", |api| {
            let mut ships = api.all::<Ship>().into_iter();
            ships.all(|ship| (2..=5).contains(&ship.spec.sails))
        })
}

#[test]
fn what_the_user_writes_gets_defaults_or_is_rejected() {
    let summary = voyage(register).histories(40).check().unwrap();
    let notes = summary.notes.join("\n");
    assert!(
        notes.contains("Ship.crew.example.com \"argo\" is invalid: spec.sails"),
        "{notes}"
    );
    assert!(notes.contains("a ship keeps its sails"), "{notes}");
    assert!(
        summary.patterns["crash"] > 0 && summary.patterns["user"] > 0,
        "{summary}"
    );
}

#[test]
fn without_its_webhooks_an_operator_sees_what_the_user_writes() {
    fn bare(manager: &mut Manager) {
        ships(manager).reconcile(write_log);
    }
    let story = voyage(bare).check().unwrap_err().to_string();
    assert!(
        story.contains("does not hold") || story.contains("reconciles fail"),
        "{story}"
    );
}

#[test]
fn a_change_of_a_spec_that_a_webhook_rejects_is_not_explored() {
    let simulation = simulate(register)
        .define(&Ship::crd())
        .object(&ship("argo"));
    let summary = simulation.histories(60).check().unwrap();
    let notes = summary.notes.join("\n");
    let (_, rejected) = notes
        .split_once("rejects these changes of a spec:")
        .unwrap();
    assert!(rejected.contains(": a ship keeps its sails"), "{notes}");
}

/// Removes what the user has set, which its own validator rejects: the reconcile fails for ever.
#[test]
fn a_write_of_the_operator_is_rejected_by_its_own_validator() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let sails = if BUGGY { 1 } else { 3 };
        if ship.spec.sails != sails {
            cx.update(&*ship, |ship: &mut Ship| ship.spec.sails = sails)
                .await?;
        }
        done()
    }
    fn scenario(register: fn(&mut Manager)) -> Simulation {
        simulate(register).object(&ship("argo"))
    }
    pair_in(
        |manager| {
            with_webhooks(manager);
            ships(manager).reconcile(reconcile::<true>);
        },
        |manager| {
            with_webhooks(manager);
            ships(manager).reconcile(reconcile::<false>);
        },
        scenario,
    );
}

/// A webhook that reads a cache: a ship needs orders.
struct Ordered;

impl Validator<Ship> for Ordered {
    async fn validate_create(&self, _: &Ship, cx: &Request<Ship>) -> Result<Warnings, Rejection> {
        let cached = cx.cached().await;
        match cached.get::<ConfigMap>("default/orders")? {
            Some(_) => Ok(Warnings::new()),
            None => Err(Rejection::forbidden("no orders")),
        }
    }
}

#[test]
fn a_webhook_reads_the_caches_of_the_operator() {
    fn register(manager: &mut Manager) {
        manager.reads(kind::<ConfigMap>());
        manager.validator::<Ship>(Ordered);
        ships(manager).reconcile(write_log);
    }
    let orders = map("orders", "to", "sail");
    let scenario = || simulate(register).object(&ship("argo")).histories(20);
    let ordered = scenario().world(&orders).check().unwrap();
    assert!(
        !ordered.notes.iter().any(|note| note.contains("rejected")),
        "{ordered}"
    );
    let without = scenario().check().unwrap();
    assert!(
        without.notes.iter().any(|note| note.contains("no orders")),
        "{without}"
    );
}

/// Keeps a ship for each fleet.
async fn build(fleet: Arc<ConfigMap>, cx: Context<ConfigMap>) -> Reconciled {
    if fleet.metadata.name.as_deref() == Some("fleet") {
        let mut ship = ship("argo");
        ship.spec.flag = None;
        cx.apply(&ship).await?;
    }
    done()
}

/// The definition was not upgraded with the webhook, so the API server prunes what that sets: each apply changes the ship again.
#[test]
fn a_defaulter_sets_a_field_that_the_definition_lacks() {
    fn register(manager: &mut Manager) {
        with_webhooks(manager);
        let fleet = manager.controller::<ConfigMap>("fleet");
        fleet.owns(metadata::<Ship>()).reconcile(build);
    }
    let scenario = |has_flag: bool| {
        let mut crd = serde_json::to_value(Ship::crd()).unwrap();
        let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let spec = schema["properties"]["spec"]["properties"].as_object_mut();
        if !has_flag {
            spec.unwrap().remove("flag");
        }
        let fleet = map("fleet", "ships", "1");
        simulate(register).define(&crd).object(&fleet)
    };
    let story = scenario(false).check().unwrap_err().to_string();
    assert!(
        story.contains("reconciling again changes something"),
        "{story}"
    );
    scenario(true).histories(20).check().unwrap();
}
