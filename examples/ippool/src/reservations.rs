//! Reserves addresses for claims: creates the `IPAllocation` objects.

use std::{net::IpAddr, sync::Arc};

use anyhow::Context as _;
use api::tsi::v1alpha1::{IPAllocation, IPAllocationSpec, IPClaim, IPClaimReference};
use kube::{
    Api, ResourceExt,
    api::{ObjectMeta, PostParams},
};
use manager::Context;

use crate::{addresses::Cidr, controllers::ipallocation::holder};

/// The address that is reserved for the claim: an earlier reconcile did not come to report it.
pub fn reserved(
    claim: &IPClaim,
    cidrs: &[Cidr],
    cx: &Context<IPClaim>,
) -> anyhow::Result<Option<IpAddr>> {
    let uid = claim.uid().unwrap_or_default();
    let ours = cx.list::<IPAllocation>().by(holder, uid).all()?;
    let mut addresses = ours.iter().filter_map(|allocation| allocation.address());
    Ok(addresses.find(|address| cidrs.iter().any(|cidr| cidr.contains(*address))))
}

/// Reserves the first address that is free; `None` if all are taken.
pub async fn reserve(
    claim: &IPClaim,
    cidrs: &[Cidr],
    cx: &Context<IPClaim>,
) -> anyhow::Result<Option<IpAddr>> {
    for address in cidrs.iter().flat_map(Cidr::addresses) {
        // The cache saves requests. Whether an address is free, the API server decides.
        let taken = cx.get::<IPAllocation>(&IPAllocation::name_of(address))?;
        if taken.is_none() && create(address, claim, cx).await? {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

/// Creates the allocation of an address; returns `false` if there is one.
async fn create(address: IpAddr, claim: &IPClaim, cx: &Context<IPClaim>) -> anyhow::Result<bool> {
    let api = Api::all(cx.client());
    let created = api
        .create(&PostParams::default(), &allocation(address, claim))
        .await;
    match created {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(error)) if error.is_already_exists() => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot reserve {address}")),
    }
}

/// Reserves the address of a claim again if its allocation was deleted; returns `false` if another claim has it.
pub async fn keep(address: IpAddr, claim: &IPClaim, cx: &Context<IPClaim>) -> anyhow::Result<bool> {
    let name = IPAllocation::name_of(address);
    let mut there = cx.get::<IPAllocation>(&name)?;
    if there.is_none() {
        if create(address, claim, cx).await? {
            return Ok(true);
        }
        there = Api::all(cx.client()).get_opt(&name).await?.map(Arc::new);
    }
    Ok(there.is_some_and(|there| Some(&there.spec.claim.uid) == claim.uid().as_ref()))
}

/// The allocation of an address to a claim.
pub fn allocation(address: IpAddr, claim: &IPClaim) -> IPAllocation {
    let pool = claim.spec.pool.clone();
    IPAllocation {
        metadata: ObjectMeta {
            name: Some(IPAllocation::name_of(address)),
            labels: Some([(IPAllocation::POOL_LABEL.to_owned(), pool.clone())].into()),
            ..ObjectMeta::default()
        },
        spec: IPAllocationSpec {
            pool,
            claim: IPClaimReference {
                namespace: claim.namespace().unwrap_or_default(),
                name: claim.name_any(),
                uid: claim.uid().unwrap_or_default(),
            },
        },
    }
}
