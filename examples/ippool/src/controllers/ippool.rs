//! The `ippool` controller for `IPPool`: counts the addresses of each pool, and keeps it while one is held.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use api::tsi::v1alpha1::{IPAllocation, IPPool};
use kube::{Api, api::ListParams};
use manager::{Action, Cleanup, Context, Key, Manager, kind};

use crate::addresses::{Cidr, cidrs};

/// A deleted pool is looked at whenever one of its addresses is released; this is for a change that was not noticed.
const AGAIN: Duration = Duration::from_secs(300);

/// How many claims the status of a deleted pool names.
const NAMED: u32 = 5;

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ippools,verbs=get;list;watch;patch;update
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ippools/status,verbs=patch
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ipallocations,verbs=list;watch
// +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<IPPool>("ippool")
        .watches(kind::<IPAllocation>(), |allocation, _| {
            Ok(vec![Key::from(&allocation.spec.pool)])
        })
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
        .finalizer("tsi.tiduyun.com/ippool", cleanup)
        .reconcile(reconcile);
}

/// Reconciles one `IPPool`.
async fn reconcile(pool: Arc<IPPool>, cx: Context<IPPool>) -> anyhow::Result<Action> {
    let used = count(&cx)?;
    let capacity = match cidrs(&pool) {
        Ok(cidrs) => cidrs.iter().map(Cidr::size).fold(0, u128::saturating_add),
        Err(error) => {
            cx.not_ready("Invalid", format!("{error:#}"));
            return Ok(Action::await_change());
        }
    };
    cx.status(|status| status.capacity = capacity.to_string());
    let message = format!("{used} of {capacity} addresses are held");
    if u128::from(used.unsigned_abs()) < capacity {
        cx.condition("Exhausted", false, "AddressesFree", message);
    } else {
        cx.condition("Exhausted", true, "AllHeld", message);
    }
    cx.ready("Valid", "addresses are handed out to claims");
    Ok(Action::await_change())
}

/// Lets a deleted `IPPool` go once none of its addresses is held.
async fn cleanup(_: Arc<IPPool>, cx: Context<IPPool>) -> anyhow::Result<Cleanup> {
    let claims = claims(&cx).await?;
    if claims.is_empty() {
        return Ok(Cleanup::Done);
    }
    count(&cx)?;
    let message = format!("addresses are held for {}", claims.join(", "));
    cx.not_ready("InUse", message);
    cx.warning(
        "InUse",
        "deleted once no address is held; the condition Ready names the claims",
    );
    Ok(Cleanup::Again(AGAIN))
}

/// Counts the addresses that are held, and reports the number.
fn count(cx: &Context<IPPool>) -> anyhow::Result<i64> {
    let held = cx.list::<IPAllocation>().by(pool, cx.name()).keys()?.len();
    let used = i64::try_from(held)?;
    cx.status(|status| status.used = used);
    Ok(used)
}

/// Some of the claims that hold addresses of the pool, by the API server and not by the cache: none is overlooked.
async fn claims(cx: &Context<IPPool>) -> anyhow::Result<Vec<String>> {
    let api: Api<IPAllocation> = Api::all(cx.client());
    let ours = format!("{}={}", IPAllocation::POOL_LABEL, cx.name());
    let held = match api
        .list(&ListParams::default().labels(&ours).limit(NAMED))
        .await
    {
        Ok(held) => held,
        // `make uninstall` has deleted the kind.
        Err(kube::Error::Api(error)) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error).context("cannot list the addresses that are held"),
    };
    let claims = held.items.iter().map(|held| &held.spec.claim);
    let names = claims.map(|claim| format!("{}/{}", claim.namespace, claim.name));
    let more = held.metadata.continue_.filter(|more| !more.is_empty());
    Ok(names.chain(more.map(|_| "others".to_owned())).collect())
}

/// The pool of an allocation.
fn pool(allocation: &IPAllocation) -> Vec<String> {
    vec![allocation.spec.pool.clone()]
}

#[cfg(test)]
mod tests {
    use api::tsi::v1alpha1::{IPAllocationSpec, IPClaimReference, IPPoolStatus};
    use kbr_testing::{FakeApi, is_ready, reason};

    use super::*;
    use crate::tests::pool;

    /// Stores allocations of the pool to the claims `default/0`, `default/1` and so on.
    fn allocate(api: &FakeApi, addresses: &[&str]) {
        for (index, address) in addresses.iter().enumerate() {
            let claim = IPClaimReference {
                namespace: "default".to_owned(),
                name: index.to_string(),
                uid: index.to_string(),
            };
            let pool = "pool".to_owned();
            let labels = [(IPAllocation::POOL_LABEL.to_owned(), pool.clone())];
            let mut held = IPAllocation::new(address, IPAllocationSpec { pool, claim });
            held.metadata.labels = Some(labels.into());
            api.put(&held);
        }
    }

    /// Reconciles the pool, and returns its status; `None` if it is gone.
    async fn status(api: &FakeApi) -> Option<IPPoolStatus> {
        api.reconcile(register, "pool").await.unwrap();
        api.get::<IPPool>("", "pool")?.status
    }

    #[tokio::test]
    async fn a_pool_counts_its_addresses_and_those_that_are_held() {
        let api = FakeApi::new();
        api.put(&pool(&["10.0.0.0/30", "192.0.2.0/31"]));
        allocate(&api, &["10.0.0.0", "10.0.0.1"]);
        let now = status(&api).await.unwrap();
        assert_eq!((now.capacity.as_str(), now.used), ("6", 2));
        assert!(is_ready(&now.conditions));
        assert_eq!(reason(&now.conditions, "Exhausted"), Some("AddressesFree"));

        allocate(
            &api,
            &[
                "10.0.0.0",
                "10.0.0.1",
                "10.0.0.2",
                "10.0.0.3",
                "192.0.2.0",
                "192.0.2.1",
            ],
        );
        let now = status(&api).await.unwrap();
        assert_eq!(now.used, 6);
        assert_eq!(reason(&now.conditions, "Exhausted"), Some("AllHeld"));
    }

    #[tokio::test]
    async fn an_ipv6_pool_has_more_addresses_than_a_number_of_json_can_count() {
        for (cidr, capacity) in [
            ("2001:db8::/64", "18446744073709551616"),
            ("::/0", "340282366920938463463374607431768211455"),
        ] {
            let api = FakeApi::new();
            api.put(&pool(&[cidr, "0.0.0.0/1"][..1]));
            assert_eq!(status(&api).await.unwrap().capacity, capacity);
        }
    }

    #[tokio::test]
    async fn a_malformed_pool_is_not_ready() {
        for cidr in ["banana", "10.0.0.1/24", "10.0.0.0/33"] {
            let api = FakeApi::new();
            api.put(&pool(&["10.0.0.0/24", cidr]));
            let conditions = status(&api).await.unwrap().conditions;
            assert_eq!(reason(&conditions, "Ready"), Some("Invalid"), "{cidr}");
            assert!(conditions[0].message.contains(cidr), "{conditions:?}");
        }
    }

    #[tokio::test]
    async fn a_pool_in_use_is_not_deleted_and_names_the_claims() {
        let api = FakeApi::new();
        api.put(&pool(&["10.0.0.0/24"]));
        allocate(&api, &["10.0.0.0", "10.0.0.1"]);
        assert!(is_ready(&status(&api).await.unwrap().conditions));
        api.delete::<IPPool>("", "pool");

        let now = status(&api).await.unwrap();
        assert_eq!(reason(&now.conditions, "Ready"), Some("InUse"));
        let ready = now
            .conditions
            .iter()
            .find(|one| one.type_ == "Ready")
            .unwrap();
        assert_eq!(ready.message, "addresses are held for default/0, default/1");
        let reasons: Vec<_> = api
            .all_json("events")
            .iter()
            .map(|event| event["reason"].clone())
            .collect();
        assert_eq!(reasons, ["InUse"]);

        let all = [
            "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5",
        ];
        allocate(&api, &all);
        let now = status(&api).await.unwrap();
        let ready = now
            .conditions
            .iter()
            .find(|one| one.type_ == "Ready")
            .unwrap();
        assert!(
            ready.message.ends_with("default/4, others"),
            "{}",
            ready.message
        );

        for address in all {
            api.delete::<IPAllocation>("", address);
        }
        assert_eq!(status(&api).await, None);
    }
}
