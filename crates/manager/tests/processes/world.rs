//! The environment of the tests: the control plane, and helpers for objects.

use std::{collections::hash_map::RandomState, hash::BuildHasher, path::PathBuf, time::Duration};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kbr_testing::{eventually, is_ready};
use kube::{
    Api, ResourceExt as _,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    operator::{Sailor, SailorSpec},
    plane::Plane,
};

/// The lease times of a test.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub lease: Duration,
    pub renew: Duration,
    pub retry: Duration,
}

impl Times {
    /// The flags for these times.
    pub fn flags(self) -> Vec<String> {
        let flag =
            |name: &str, time: Duration| format!("--leader-election-{name}={}ms", time.as_millis());
        vec![
            "--leader-elect".to_owned(),
            flag("lease-duration", self.lease),
            flag("renew-deadline", self.renew),
            flag("retry-period", self.retry),
        ]
    }
}

pub struct World {
    pub plane: Plane,
    /// Whether this is the long form, `make soak`.
    pub long: bool,
    folder: tempfile::TempDir,
    namespaces: usize,
}

impl World {
    pub async fn start() -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("kbr-faults-").tempdir()?;
        Ok(Self {
            plane: Plane::start(folder.path()).await?,
            long: std::env::var("KBR_FAULTS").is_ok_and(|form| form == "long"),
            folder,
            namespaces: 0,
        })
    }

    /// Keeps the files, and returns their directory.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// The first value in the short form, and the second in the long form.
    pub fn either<T>(&self, short: T, long: T) -> T {
        if self.long { long } else { short }
    }

    /// The lease times: short ones, or the defaults.
    pub fn times(&self) -> Times {
        let times = |lease, renew, retry| Times {
            lease: Duration::from_millis(lease),
            renew: Duration::from_millis(renew),
            retry: Duration::from_millis(retry),
        };
        self.either(times(4000, 2500, 500), times(15000, 10000, 2000))
    }

    /// Creates a namespace with a unique name.
    pub async fn namespace(&mut self) -> anyhow::Result<String> {
        self.namespaces += 1;
        let name = format!("crew-{}", self.namespaces);
        self.plane.namespace(&name).await?;
        Ok(name)
    }

    /// The objects of a namespace.
    pub fn sailors(&self, namespace: &str) -> Api<Sailor> {
        Api::namespaced(self.plane.client.clone(), namespace)
    }

    /// Creates objects named `s0`, `s1` and so on; `spec` returns the spec of each.
    pub async fn make(
        &self,
        namespace: &str,
        count: usize,
        spec: impl Fn(usize) -> SailorSpec,
    ) -> anyhow::Result<()> {
        let sailor = |number| Sailor::new(&format!("s{number}"), spec(number));
        self.make_all(namespace, (0..count).map(sailor)).await
    }

    /// Creates one object.
    pub async fn make_named(
        &self,
        namespace: &str,
        name: &str,
        spec: SailorSpec,
    ) -> anyhow::Result<()> {
        let sailor = Sailor::new(name, spec);
        self.make_all(namespace, [sailor].into_iter()).await
    }

    /// Creates these objects.
    pub async fn make_all(
        &self,
        namespace: &str,
        sailors: impl Iterator<Item = Sailor>,
    ) -> anyhow::Result<()> {
        let api = self.sailors(namespace);
        stream::iter(sailors)
            .map(|sailor| {
                let api = api.clone();
                async move { api.create(&PostParams::default(), &sailor).await }
            })
            .buffer_unordered(16)
            .try_for_each(async |_| Ok(()))
            .await?;
        Ok(())
    }

    /// Changes the spec of the first `count` objects.
    pub async fn change(
        &self,
        namespace: &str,
        count: usize,
        spec: impl Fn(usize) -> SailorSpec,
    ) -> anyhow::Result<()> {
        let api = self.sailors(namespace);
        stream::iter(0..count)
            .map(|number| {
                // `null` for fields to remove.
                let spec = merged(&spec(number));
                let api = api.clone();
                async move {
                    let patch = Patch::Merge(json!({ "spec": spec }));
                    api.patch(&format!("s{number}"), &PatchParams::default(), &patch)
                        .await
                }
            })
            .buffer_unordered(16)
            .try_for_each(async |_| Ok(()))
            .await?;
        Ok(())
    }

    /// Waits until each object that `which` selects has converged.
    pub async fn converged(
        &self,
        namespace: &str,
        within: Duration,
        which: impl Fn(&Sailor) -> bool,
    ) -> anyhow::Result<()> {
        let api = self.sailors(namespace);
        eventually(within, "all objects are as they are to be", async || {
            let sailors = api.list(&kube::api::ListParams::default()).await?;
            let late: Vec<_> = sailors
                .iter()
                .filter(|it| which(it) && !is_done(it))
                .collect();
            let names = late.iter().take(5).map(|it| it.name_any());
            anyhow::ensure!(
                late.is_empty(),
                "{} of {} are not, such as {}",
                late.len(),
                sailors.items.len(),
                names.collect::<Vec<_>>().join(", ")
            );
            Ok(Some(()))
        })
        .await
    }
}

/// Whether the status matches the spec.
pub fn is_done(sailor: &Sailor) -> bool {
    sailor.status.as_ref().is_some_and(|status| {
        status.text == sailor.spec.text
            && status.observed_generation == sailor.metadata.generation
            && is_ready(&status.conditions)
    })
}

/// A spec as a merge patch that replaces any other spec.
fn merged(spec: &SailorSpec) -> Value {
    let mut spec = json!(spec);
    if spec.get("fault").is_none() {
        spec["fault"] = Value::Null;
    }
    spec
}

/// A random duration between two.
pub fn random(from: Duration, to: Duration) -> Duration {
    // `RandomState` is the random source of the standard library.
    let part = RandomState::new().hash_one(0_u8) % 10_000;
    let part = f64::from(u32::try_from(part).unwrap_or_default()) / 10_000.0;
    from + to.saturating_sub(from).mul_f64(part)
}
