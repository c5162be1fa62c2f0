//! Operators whose requests are overtaken by what others do.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kbr_testing::{FakeApi, Oracle, Simulation, simulate};
use kube::{Api, api::PostParams};
use manager::{Context, Manager};

use crate::kinds::{Reconciled, Ship, done, flag, map, pair_in, ship, ships};

/// Reads a map, adds an entry and replaces the map, whatever its version: what someone adds meanwhile is lost.
#[test]
fn an_entry_of_someone_else_is_overwritten() {
    async fn reconcile<const BUGGY: bool>(ship: Arc<Ship>, cx: Context<Ship>) -> Reconciled {
        let api: Api<ConfigMap> = Api::namespaced(cx.client(), "default");
        let mut log = api.get("log").await?;
        let entries = log.data.get_or_insert_default();
        if entries.insert("flag".to_owned(), flag(&ship)) != Some(flag(&ship)) {
            if BUGGY {
                log.metadata.resource_version = None;
            }
            api.replace("log", &PostParams::default(), &log).await?;
        }
        done()
    }
    fn scenario(register: fn(&mut Manager)) -> Simulation {
        simulate(register)
            .world(&map("log", "captain", "Jason"))
            .object(&ship("argo"))
            .user("writes where to go", |api: &FakeApi| {
                api.edit::<ConfigMap>("default", "log", |log| {
                    let entries = log.data.get_or_insert_default();
                    entries.insert("course".to_owned(), "Colchis".to_owned());
                });
            })
            .without(
                Oracle::NothingLeft,
                "the log is the user's, who may write into it or not",
            )
    }
    pair_in(
        |manager| ships(manager).reconcile(reconcile::<true>),
        |manager| ships(manager).reconcile(reconcile::<false>),
        scenario,
    );
}
