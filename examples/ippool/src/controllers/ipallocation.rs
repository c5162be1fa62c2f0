//! The `ipallocation` controller for `IPAllocation`: deletes each one that no claim can use any more, which frees the address.
//!
//! Whether that is so, the API server is asked: a cache may be older than the allocation. What is true once stays true,
//! because a uid never comes back and the address of a claim never changes.

use std::sync::Arc;

use api::tsi::v1alpha1::{IPAllocation, IPClaim};
use kube::{Api, ResourceExt};
use manager::{Action, Context, Key, Manager, kind};

// The permissions of this controller. `make manifests` generates the operator's role from these comments.
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ipallocations,verbs=get;list;watch;delete
// +kbr:rbac:groups=tsi.tiduyun.com,resources=ipclaims,verbs=get;list;watch
/// Registers the controller: what it watches, and its reconcile function.
pub fn register(manager: &mut Manager) {
    manager
        .controller::<IPAllocation>("ipallocation")
        .watches(kind::<IPClaim>(), |claim, cached| {
            let uid = claim.uid().unwrap_or_default();
            cached.list::<IPAllocation>().by(holder, uid).keys()
        })
        .reconcile(reconcile);
}

/// The uid of the claim that holds the address.
pub fn holder(allocation: &IPAllocation) -> Vec<String> {
    vec![allocation.spec.claim.uid.clone()]
}

/// Reconciles one `IPAllocation`.
async fn reconcile(
    allocation: Arc<IPAllocation>,
    cx: Context<IPAllocation>,
) -> anyhow::Result<Action> {
    if !is_held(&allocation, &cx).await? {
        // This one only, and not a later one of the same address: on condition of its uid.
        cx.delete(&*allocation).await?;
    }
    Ok(Action::await_change())
}

/// Whether the claim has the address, or may yet get it.
async fn is_held(allocation: &IPAllocation, cx: &Context<IPAllocation>) -> anyhow::Result<bool> {
    let claim = &allocation.spec.claim;
    let cached = cx.get::<IPClaim>(Key::new(Some(&claim.namespace), &claim.name))?;
    if cached.is_some_and(|claim| holds(&claim, allocation)) {
        // Once that is no longer so, the claim has changed, and this runs again.
        return Ok(true);
    }
    let api: Api<IPClaim> = Api::namespaced(cx.client(), &claim.namespace);
    let now = api.get_opt(&claim.name).await?;
    Ok(now.is_some_and(|claim| holds(&claim, allocation)))
}

/// Whether it is this claim, and no other address was reported to it.
fn holds(claim: &IPClaim, allocation: &IPAllocation) -> bool {
    claim.uid().as_ref() == Some(&allocation.spec.claim.uid)
        && (claim.address().is_none() || claim.address() == allocation.address())
}

#[cfg(test)]
mod tests {
    use api::tsi::v1alpha1::{IPAllocationSpec, IPClaimReference, IPClaimStatus};
    use kbr_testing::FakeApi;

    use super::*;
    use crate::tests::{claim, held};

    const ADDRESS: &str = "10.0.0.1";

    /// Stores a claim with this address, if any, and the allocation of [`ADDRESS`] to it.
    fn api(address: Option<&str>) -> FakeApi {
        let api = FakeApi::new();
        let mut holder = claim("a", None);
        holder.metadata.uid = Some("1".to_owned());
        holder.status = Some(IPClaimStatus {
            address: address.map(str::to_owned),
            ..IPClaimStatus::default()
        });
        api.put(&holder);
        let claim = IPClaimReference {
            namespace: "default".to_owned(),
            name: "a".to_owned(),
            uid: "1".to_owned(),
        };
        let pool = "pool".to_owned();
        api.put(&IPAllocation::new(
            ADDRESS,
            IPAllocationSpec { pool, claim },
        ));
        api
    }

    #[tokio::test]
    async fn an_address_is_held_for_a_claim_that_has_it_and_for_one_that_has_none_yet() {
        for address in [Some(ADDRESS), None] {
            let api = api(address);
            api.reconcile(register, ADDRESS).await.unwrap();
            assert_eq!(held(&api), [ADDRESS]);
        }
    }

    #[tokio::test]
    async fn the_address_of_a_deleted_claim_is_released() {
        let api = api(Some(ADDRESS));
        api.delete::<IPClaim>("default", "a");
        api.reconcile(register, ADDRESS).await.unwrap();
        assert!(held(&api).is_empty());
    }

    #[tokio::test]
    async fn an_address_is_not_held_for_a_later_claim_of_the_same_name() {
        let api = api(None);
        api.delete::<IPClaim>("default", "a");
        api.put(&claim("a", None));
        api.reconcile(register, ADDRESS).await.unwrap();
        assert!(held(&api).is_empty());
    }

    #[tokio::test]
    async fn a_second_address_that_was_reserved_for_a_claim_is_released() {
        let api = api(Some("10.0.0.2"));
        api.reconcile(register, ADDRESS).await.unwrap();
        assert!(held(&api).is_empty());
    }
}
