//! What the three controllers do together on a fake API server, and the objects that all unit tests are made of.

use std::{collections::BTreeSet, time::Duration};

use api::tsi::v1alpha1::{IPAllocation, IPClaim, IPClaimSpec, IPFamily, IPPool, IPPoolSpec};
use kbr_testing::{FakeApi, Oracle, Run, Simulation, eventually, reason, simulate};
use kube::ResourceExt;
use manager::Manager;

use crate::controllers::{ipallocation, ipclaim, ippool};

const SOON: Duration = Duration::from_secs(60);

pub fn pool(cidrs: &[&str]) -> IPPool {
    let cidrs = cidrs.iter().map(|&cidr| cidr.to_owned()).collect();
    IPPool::new("pool", IPPoolSpec { cidrs })
}

/// A claim for an address of `pool`, in the namespace `default`.
pub fn claim(name: &str, family: Option<IPFamily>) -> IPClaim {
    let pool = "pool".to_owned();
    let mut claim = IPClaim::new(name, IPClaimSpec { pool, family });
    claim.metadata.namespace = Some("default".to_owned());
    claim
}

/// The address of a claim; without one, the reason.
pub fn answer(api: &FakeApi, claim: &str) -> String {
    let claim: IPClaim = api.get("default", claim).unwrap();
    let status = claim.status.unwrap_or_default();
    let reason = reason(&status.conditions, "Ready").unwrap_or_default();
    status.address.unwrap_or_else(|| reason.to_owned())
}

/// The addresses that are held, as the names of their objects.
pub fn held(api: &FakeApi) -> Vec<String> {
    let all = api.all::<IPAllocation>();
    all.iter().map(ResourceExt::name_any).collect()
}

fn register(manager: &mut Manager) {
    ipallocation::register(manager);
    ipclaim::register(manager);
    ippool::register(manager);
}

fn run(api: &FakeApi) -> Run {
    api.run(register).unwrap()
}

/// Waits until these claims have these answers.
async fn answers(api: &FakeApi, expected: &[(&str, &str)]) {
    let all = || async {
        let same = |&(claim, expected): &(&str, &str)| answer(api, claim) == expected;
        Ok(expected.iter().all(same).then_some(()))
    };
    let what = format!("{expected:?}");
    eventually(SOON, &what, all).await.unwrap();
}

#[tokio::test]
async fn a_freed_address_is_handed_out_to_a_claim_that_waits() {
    let api = FakeApi::new();
    let _run = run(&api);
    api.put(&pool(&["10.0.0.0/31"]));
    for (name, address) in [("a", "10.0.0.0"), ("b", "10.0.0.1"), ("c", "PoolExhausted")] {
        api.put(&claim(name, None));
        answers(&api, &[(name, address)]).await;
    }

    api.delete::<IPClaim>("default", "a");
    answers(&api, &[("b", "10.0.0.1"), ("c", "10.0.0.0")]).await;
    assert_eq!(held(&api), ["10.0.0.0", "10.0.0.1"]);
}

#[tokio::test]
async fn an_address_that_is_freed_in_one_pool_serves_a_claim_of_an_overlapping_one() {
    let api = FakeApi::new();
    let _run = run(&api);
    let mut other = pool(&["10.0.0.0/32"]);
    other.metadata.name = Some("other".to_owned());
    let mut first = claim("first", None);
    first.spec.pool = "other".to_owned();
    api.put(&other);
    api.put(&first);
    answers(&api, &[("first", "10.0.0.0")]).await;

    api.put(&pool(&["10.0.0.0/32"]));
    api.put(&claim("second", None));
    answers(&api, &[("second", "PoolExhausted")]).await;
    api.delete::<IPClaim>("default", "first");
    answers(&api, &[("second", "10.0.0.0")]).await;
}

#[tokio::test]
async fn claims_that_wait_are_served_when_their_pool_is_created_or_widened() {
    let api = FakeApi::new();
    let _run = run(&api);
    for name in ["a", "b"] {
        api.put(&claim(name, None));
        answers(&api, &[(name, "PoolNotFound")]).await;
    }

    let both = || {
        let mut both = [answer(&api, "a"), answer(&api, "b")];
        both.sort();
        both
    };
    for (cidrs, expected) in [
        (&["10.0.0.0/32"][..], ["10.0.0.0", "PoolExhausted"]),
        (
            &["10.0.0.0/32", "2001:db8::/64"],
            ["10.0.0.0", "2001:db8::"],
        ),
    ] {
        api.put(&pool(cidrs));
        let served = || async { Ok((both() == expected).then_some(())) };
        eventually(SOON, "both are served", served).await.unwrap();
    }
}

#[tokio::test]
async fn a_pool_goes_once_the_last_of_its_claims_has_gone() {
    let api = FakeApi::new();
    let mut run = run(&api);
    api.put(&pool(&["10.0.0.0/24"]));
    for name in ["a", "b"] {
        api.put(&claim(name, None));
    }
    let served = || async { Ok((held(&api).len() == 2).then_some(())) };
    eventually(SOON, "two addresses", served).await.unwrap();

    api.delete::<IPPool>("", "pool");
    api.delete::<IPClaim>("default", "a");
    let released = || async { Ok((held(&api).len() == 1).then_some(())) };
    eventually(SOON, "one address", released).await.unwrap();
    run.idle().await.unwrap();
    assert!(api.get::<IPPool>("", "pool").is_some());

    api.delete::<IPClaim>("default", "b");
    let gone = || async { Ok(api.get::<IPPool>("", "pool").is_none().then_some(())) };
    eventually(SOON, "no pool", gone).await.unwrap();
    assert!(held(&api).is_empty());
}

/// Whether no two claims have the same address.
fn are_distinct(api: &FakeApi) -> bool {
    let claims = api.all::<IPClaim>();
    let addresses: Vec<_> = claims.iter().filter_map(IPClaim::address).collect();
    let distinct: BTreeSet<_> = addresses.iter().collect();
    distinct.len() == addresses.len()
}

/// Whether a pool exists as long as a claim has an address of it.
fn is_kept(api: &FakeApi) -> bool {
    let is_held = |claim: IPClaim| claim.address().is_some();
    api.get::<IPPool>("", "pool").is_some() || !api.all().into_iter().any(is_held)
}

/// As many claims as addresses. Which claim gets which address depends on the faults.
#[test]
fn pools_and_claims_survive_faults() {
    simulate(register)
        .object(&pool(&["10.0.0.0/31"]))
        .object(&claim("b", None))
        .object(&claim("a", None))
        .user("replaces a claim", |api| {
            api.delete::<IPClaim>("default", "b");
            api.put(&claim("b", None));
        })
        .without(
            Oracle::Counts,
            "the claim that is replaced has either address",
        )
        .ignore("/spec/claim")
        .ignore("/status/address")
        .ignore("/status/conditions/*/message")
        .always("no two claims have the same address", are_distinct)
        .run();
    a_deleted_pool().run();
}

/// In some histories, the pool is deleted before the claim has an address, and in others it stays.
fn a_deleted_pool() -> Simulation {
    simulate(register)
        .object(&pool(&["10.0.0.0/32"]))
        .object(&claim("a", None))
        .user("deletes the pool", |api| api.delete::<IPPool>("", "pool"))
        .ignore("IPPool pool")
        .ignore("IPClaim default/a /status")
        .ignore("IPAllocation 10.0.0.0")
        .always("a pool stays while a claim has an address of it", is_kept)
}
