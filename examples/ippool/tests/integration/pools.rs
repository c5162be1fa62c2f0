//! What the tests have in common. Pools and addresses belong to the whole cluster, and tests run in parallel: each test has a pool of its
//! own, with the name of its namespace and addresses that no other test uses. The operators of all tests act on all pools.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use api::tsi::v1alpha1::{IPAllocation, IPClaim, IPClaimSpec, IPPool, IPPoolSpec};
use kbr_testing::{Cluster, eventually};
use kube::{
    Api, ResourceExt,
    api::{ListParams, PostParams},
};
use tokio::task::JoinSet;

pub const OPERATOR: &str = env!("CARGO_BIN_EXE_tsi-controller");

pub const SOON: Duration = Duration::from_secs(180);

/// Creates the pool of this test.
pub async fn create_pool(cluster: &Cluster, cidrs: &[&str]) -> kube::Result<IPPool> {
    let cidrs = cidrs.iter().map(|&cidr| cidr.to_owned()).collect();
    let pool = IPPool::new(cluster.namespace(), IPPoolSpec { cidrs });
    let pools = Api::all(cluster.client());
    pools.create(&PostParams::default(), &pool).await
}

/// A claim for an address of this pool.
pub fn claim(name: &str, pool: &str) -> IPClaim {
    let pool = pool.to_owned();
    IPClaim::new(name, IPClaimSpec { pool, family: None })
}

/// Creates that many claims for addresses of this pool at once.
pub async fn create_claims(cluster: &Cluster, count: usize, pool: &str) -> anyhow::Result<()> {
    let mut all = JoinSet::new();
    for number in 0..count {
        let (claims, claim) = (cluster.api(), claim(&format!("claim-{number}"), pool));
        all.spawn(async move { claims.create(&PostParams::default(), &claim).await });
    }
    for created in all.join_all().await {
        created?;
    }
    Ok(())
}

/// The claims in the namespace of this test.
pub async fn claims(cluster: &Cluster) -> kube::Result<Vec<IPClaim>> {
    let claims = cluster.api::<IPClaim>();
    Ok(claims.list(&ListParams::default()).await?.items)
}

/// The addresses of a pool that are held, and the uid of the claim that each is held for.
pub async fn held(cluster: &Cluster, pool: &str) -> kube::Result<BTreeMap<String, String>> {
    let label = format!("{}={pool}", IPAllocation::POOL_LABEL);
    let held = Api::<IPAllocation>::all(cluster.client());
    let held = held.list(&ListParams::default().labels(&label)).await?;
    let one =
        |held: &IPAllocation| Some((held.address()?.to_string(), held.spec.claim.uid.clone()));
    Ok(held.iter().filter_map(one).collect())
}

/// The addresses that were ever reported to claims, by the uid of the claim.
#[derive(Default)]
pub struct Reported(BTreeMap<String, String>);

impl Reported {
    /// Looks at all claims: no two have the same address, and none has another one than before. Returns how many have an address, and
    /// how many report that the pool is exhausted.
    pub fn check(&mut self, claims: &[IPClaim]) -> (usize, usize) {
        let mut addresses = BTreeSet::new();
        let mut waiting = 0;
        for claim in claims {
            let status = claim.status.clone().unwrap_or_default();
            let reason = kbr_testing::reason(&status.conditions, "Ready");
            waiting += usize::from(reason == Some("PoolExhausted"));
            let Some(address) = status.address else {
                continue;
            };
            assert!(
                addresses.insert(address.clone()),
                "{address} was handed out twice"
            );
            let uid = claim.uid().unwrap_or_default();
            let first = self.0.entry(uid).or_insert_with(|| address.clone());
            assert_eq!(
                *first,
                address,
                "the address of {} changed",
                claim.name_any()
            );
        }
        (addresses.len(), waiting)
    }
}

/// Waits until so many claims of these namespaces have an address, and so many wait, and nothing else is held; on the way, no address is
/// ever handed out twice.
pub async fn settle(
    clusters: &[&Cluster],
    pool: &str,
    reported: &mut Reported,
    expected: (usize, usize),
) -> anyhow::Result<()> {
    let reported = std::cell::RefCell::new(reported);
    let settled = || async {
        let mut all = Vec::new();
        for cluster in clusters {
            all.extend(claims(cluster).await?);
        }
        let found = reported.borrow_mut().check(&all);
        let held = held(clusters[0], pool).await?;
        let of_claims: BTreeMap<_, _> = all
            .iter()
            .filter_map(|claim| Some((claim.address()?.to_string(), claim.uid()?)))
            .collect();
        anyhow::ensure!(found == expected, "(served, waiting) is {found:?}");
        anyhow::ensure!(
            held == of_claims,
            "{held:?} is held, and reported {of_claims:?}"
        );
        Ok(Some(()))
    };
    eventually(SOON, &format!("{expected:?} are served and wait"), settled).await
}

/// Deletes the pool of this test and its claims, and waits until all of it is gone.
pub async fn delete_all(cluster: &Cluster) -> anyhow::Result<()> {
    cluster.kubectl(&["delete", "ipclaims", "--all"])?;
    cluster.kubectl(&["delete", "ippool", cluster.namespace(), "--timeout=3m"])?;
    let held = held(cluster, cluster.namespace()).await?;
    anyhow::ensure!(held.is_empty(), "{held:?} is held for claims that are gone");
    Ok(())
}
