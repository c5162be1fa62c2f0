//! The `ipclaim` controller for `IPClaim`: reserves an address for each claim, and reports it.
//!
//! Reserving an address is creating its `IPAllocation`. The name of that is the address, so the API server creates only
//! one. Then the address is reported in the status of the claim, where the API server lets it never change again. An
//! operator that ends in between, or sees an old cache, at worst reserves an address that is not reported. The
//! controller `ipallocation` releases that.

use std::{net::IpAddr, sync::Arc, time::Duration};

use api::tsi::v1alpha1::{IPAllocation, IPClaim, IPPool};
use kube::{Api, ResourceExt};
use manager::{Action, Context, Key, Manager, Reader, kind, predicate};

use crate::{
    addresses::cidrs,
    reservations::{keep, reserve, reserved},
};

/// A claim that waits is woken by what it waits for; this is for a change that was not noticed.
const AGAIN: Duration = Duration::from_secs(300);

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ipclaims,verbs=get;list;watch
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ipclaims/status,verbs=patch
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ippools,verbs=get;list;watch
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ipallocations,verbs=get;list;watch;create
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<IPClaim>("ipclaim")
        .watches(
            kind::<IPPool>().when(predicate::generation_changed),
            waiting,
        )
        .watches(
            kind::<IPAllocation>().when(predicate::generation_changed),
            affected,
        )
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        // Claims that are served at once would all try the same address.
        .max_concurrent_reconciles(1)
        .reconcile(reconcile);
}

/// What the status of a claim reports.
enum Answer {
    Address(IpAddr),
    Wait {
        reason: &'static str,
        message: String,
    },
}

/// Reconciles one `IPClaim`.
async fn reconcile(claim: Arc<IPClaim>, cx: Context<IPClaim>) -> anyhow::Result<Action> {
    let answer = match claim.address() {
        Some(address) if keep(address, &claim, &cx).await? => Answer::Address(address),
        Some(address) => Answer::Wait {
            reason: "AddressLost",
            message: format!(
                "the allocation of {address} was deleted, and another claim has it now"
            ),
        },
        None => serve(&claim, &cx).await?,
    };
    match answer {
        Answer::Address(address) => {
            let from = format!("{address} of the pool `{}`", claim.spec.pool);
            if claim.address().is_none() {
                cx.event("Allocated", &from);
            }
            cx.status(|status| status.address = Some(address.to_string()));
            cx.ready("Allocated", from);
            Ok(Action::await_change())
        }
        Answer::Wait { reason, message } => {
            cx.not_ready(reason, message);
            Ok(Action::requeue(AGAIN))
        }
    }
}

/// Reserves an address for a claim that has none.
async fn serve(claim: &IPClaim, cx: &Context<IPClaim>) -> anyhow::Result<Answer> {
    let (name, family) = (&claim.spec.pool, claim.spec.family);
    let wait = |reason, message| Ok(Answer::Wait { reason, message });
    let Some(pool) = cx.get::<IPPool>(name)? else {
        return wait("PoolNotFound", format!("there is no pool `{name}`"));
    };
    let mut cidrs = match cidrs(&pool) {
        Ok(cidrs) => cidrs,
        Err(error) => return wait("PoolInvalid", format!("the pool `{name}`: {error:#}")),
    };
    cidrs.retain(|cidr| cidr.is(family));
    let deleting = format!("the pool `{name}` is being deleted");
    let address = match reserved(claim, &cidrs, cx)? {
        Some(address) => Some(address),
        None if pool.metadata.deletion_timestamp.is_some() => {
            return wait("PoolDeleting", deleting);
        }
        None => reserve(claim, &cidrs, cx).await?,
    };
    match address {
        Some(address) if is_open(&pool, cx).await? => Ok(Answer::Address(address)),
        Some(_) => wait("PoolDeleting", deleting),
        None => {
            let family = family.map_or(String::new(), |family| format!("{family:?} "));
            wait(
                "PoolExhausted",
                format!("the pool `{name}` has no free {family}address"),
            )
        }
    }
}

/// Whether the pool exists and is not being deleted, by the API server and not by the cache.
///
/// Asked once the address is reserved. The clean-up of a pool looks for reserved addresses once the pool is marked as
/// deleted. Each writes before it reads, so at least one of the two sees the other.
async fn is_open(pool: &IPPool, cx: &Context<IPClaim>) -> anyhow::Result<bool> {
    let api: Api<IPPool> = Api::all(cx.client());
    let now = api.get_metadata_opt(&pool.name_any()).await?;
    Ok(now.is_some_and(|now| {
        now.metadata.uid == pool.metadata.uid && now.metadata.deletion_timestamp.is_none()
    }))
}

/// The claims that a change of an allocation concerns: its own, and if it is gone, those that wait for its address.
fn affected(allocation: &IPAllocation, cached: &Reader) -> anyhow::Result<Vec<Key>> {
    let claim = &allocation.spec.claim;
    let mut keys = vec![Key::new(Some(&claim.namespace), &claim.name)];
    let Some(address) = allocation.address() else {
        return Ok(keys);
    };
    if cached.get::<IPAllocation>(Key::of(allocation))?.is_none() {
        // Pools may overlap.
        for pool in cached.list::<IPPool>().all()? {
            if cidrs(&pool).is_ok_and(|cidrs| cidrs.iter().any(|cidr| cidr.contains(address))) {
                keys.extend(waiting(&pool, cached)?);
            }
        }
    }
    Ok(keys)
}

/// The claims that wait for an address of this pool.
fn waiting(pool: &IPPool, cached: &Reader) -> anyhow::Result<Vec<Key>> {
    cached
        .list::<IPClaim>()
        .by(awaited_pool, pool.name_any())
        .keys()
}

/// The pool that a claim waits for.
fn awaited_pool(claim: &IPClaim) -> Vec<String> {
    let waits = claim.address().is_none();
    waits.then(|| claim.spec.pool.clone()).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use api::tsi::v1alpha1::IPFamily;
    use k8s_openapi::api::events::v1::Event;
    use kbr_testing::{FakeApi, reason};

    use super::*;
    use crate::{
        reservations::allocation,
        tests::{answer, claim, held, pool},
    };

    /// Creates a claim and reconciles it; returns its address, or the reason why it has none.
    async fn claimed(api: &FakeApi, name: &str, family: Option<IPFamily>) -> String {
        api.put(&claim(name, family));
        api.reconcile(register, name).await.unwrap();
        answer(api, name)
    }

    #[tokio::test]
    async fn the_lowest_free_address_of_the_first_cidr_comes_first() {
        let api = FakeApi::new();
        api.put(&pool(&["10.0.0.254/31", "10.0.0.0/31"]));
        for (name, address) in [
            ("a", "10.0.0.254"),
            ("b", "10.0.0.255"),
            ("c", "10.0.0.0"),
            ("d", "10.0.0.1"),
            ("e", "PoolExhausted"),
        ] {
            assert_eq!(claimed(&api, name, None).await, address);
        }
        api.delete::<IPAllocation>("", "10.0.0.255");
        api.reconcile(register, "e").await.unwrap();
        assert_eq!(answer(&api, "e"), "10.0.0.255");
    }

    #[tokio::test]
    async fn a_claim_gets_an_address_of_its_family() {
        let api = FakeApi::new();
        api.put(&pool(&["10.0.0.0/32", "2001:db8::/64"]));
        let (v4, v6) = (Some(IPFamily::IPv4), Some(IPFamily::IPv6));
        assert_eq!(claimed(&api, "a", v6).await, "2001:db8::");
        assert_eq!(claimed(&api, "b", v4).await, "10.0.0.0");
        assert_eq!(claimed(&api, "c", v4).await, "PoolExhausted");
        assert_eq!(claimed(&api, "d", None).await, "2001:db8::1");
        let names = ["10.0.0.0", "2001-db8-0-0-0-0-0-0", "2001-db8-0-0-0-0-0-1"];
        assert_eq!(held(&api), names);
    }

    #[tokio::test]
    async fn a_claim_says_what_is_wrong_with_its_pool() {
        let api = FakeApi::new();
        assert_eq!(claimed(&api, "a", None).await, "PoolNotFound");
        api.put(&pool(&["10.0.0.0/24", "banana"]));
        assert_eq!(claimed(&api, "b", None).await, "PoolInvalid");
        let mut deleted = pool(&["10.0.0.0/24"]);
        deleted.metadata.finalizers = Some(vec!["example.com/keep".to_owned()]);
        api.put(&deleted);
        api.delete::<IPPool>("", "pool");
        assert_eq!(claimed(&api, "c", None).await, "PoolDeleting");
        assert!(held(&api).is_empty());
    }

    #[tokio::test]
    async fn an_address_that_was_reserved_and_not_reported_is_reported_later() {
        let api = FakeApi::new();
        api.put(&pool(&["10.0.0.0/24"]));
        api.put(&claim("a", None));
        let known: IPClaim = api.get("default", "a").unwrap();
        api.put(&allocation("10.0.0.7".parse().unwrap(), &known));
        api.reconcile(register, "a").await.unwrap();
        assert_eq!(answer(&api, "a"), "10.0.0.7");
        assert_eq!(held(&api), ["10.0.0.7"]);
        let events: Vec<Event> = api.all();
        let note = events[0].note.as_deref();
        assert_eq!(note, Some("10.0.0.7 of the pool `pool`"));
    }

    #[tokio::test]
    async fn an_address_that_an_earlier_claim_of_the_same_name_held_is_not_taken_over() {
        let api = FakeApi::new();
        api.put(&pool(&["10.0.0.0/24"]));
        let mut earlier = claim("a", None);
        earlier.metadata.uid = Some("earlier".to_owned());
        api.put(&allocation("10.0.0.0".parse().unwrap(), &earlier));
        assert_eq!(claimed(&api, "a", None).await, "10.0.0.1");
    }

    #[tokio::test]
    async fn a_claim_keeps_its_address_although_its_pool_has_gone_and_nothing_is_written() {
        let api = FakeApi::new();
        api.put(&pool(&["10.0.0.0/24"]));
        assert_eq!(claimed(&api, "a", None).await, "10.0.0.0");
        api.delete::<IPPool>("", "pool");
        let before = api.requests().len();
        api.reconcile(register, "a").await.unwrap();
        assert_eq!(answer(&api, "a"), "10.0.0.0");
        let after = api.requests().split_off(before);
        assert!(
            after.iter().all(|request| request.starts_with("GET")),
            "{after:?}"
        );
    }

    #[tokio::test]
    async fn an_allocation_that_somebody_has_deleted_is_created_again() {
        let api = FakeApi::new();
        api.put(&pool(&["10.0.0.0/24"]));
        assert_eq!(claimed(&api, "a", None).await, "10.0.0.0");
        api.delete::<IPAllocation>("", "10.0.0.0");
        api.reconcile(register, "a").await.unwrap();
        assert_eq!(held(&api), ["10.0.0.0"]);

        api.delete::<IPAllocation>("", "10.0.0.0");
        assert_eq!(claimed(&api, "b", None).await, "10.0.0.0");
        api.reconcile(register, "a").await.unwrap();
        let a: IPClaim = api.get("default", "a").unwrap();
        let conditions = a.status.unwrap().conditions;
        assert_eq!(reason(&conditions, "Ready"), Some("AddressLost"));
    }
}
