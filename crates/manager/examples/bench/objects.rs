//! The objects: creates them, changes them, and waits until they are ready.

use std::{collections::HashSet, time::Instant};

use anyhow::Context as _;
use futures_util::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, Patch, PatchParams, PostParams},
    runtime::{
        WatchStreamExt,
        wait::await_condition,
        watcher::{self, watcher},
    },
};
use serde_json::{Value, json};

/// How many of its own requests are in flight at once.
const AT_ONCE: usize = 16;

pub async fn create(
    foos: &Api<DynamicObject>,
    names: impl Iterator<Item = String>,
) -> anyhow::Result<()> {
    let create = |name: String| async move {
        let object = json!({
            "apiVersion": "samplecontroller.example.com/v1alpha1",
            "kind": "Foo",
            "metadata": {"name": name},
            "spec": {"deploymentName": name, "replicas": 1},
        });
        foos.create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        anyhow::Ok(())
    };
    let all = stream::iter(names).map(create);
    all.buffer_unordered(AT_ONCE).try_collect().await
}

pub async fn change(foos: &Api<DynamicObject>, objects: usize) -> anyhow::Result<()> {
    let patch = Patch::Merge(json!({"spec": {"replicas": 2}}));
    let change = |i: usize| {
        let patch = &patch;
        async move {
            foos.patch(&name(i), &PatchParams::default(), patch).await?;
            anyhow::Ok(())
        }
    };
    let all = stream::iter(0..objects).map(change);
    all.buffer_unordered(AT_ONCE).try_collect().await
}

/// Changes the last object once the first is ready, and returns the seconds until it is ready.
pub async fn change_last(foos: &Api<DynamicObject>, objects: usize) -> anyhow::Result<f64> {
    let Some(last) = objects.checked_sub(1) else {
        return Ok(0.0);
    };
    ready(foos, &name(0), 1).await?;
    change_one(foos, &name(last), 3).await
}

/// Changes an object, and returns the seconds until it is ready.
pub async fn change_one(
    foos: &Api<DynamicObject>,
    name: &str,
    replicas: usize,
) -> anyhow::Result<f64> {
    let started = Instant::now();
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let changed = foos.patch(name, &PatchParams::default(), &patch).await?;
    ready(foos, name, changed.metadata.generation.unwrap_or_default()).await?;
    Ok(started.elapsed().as_secs_f64())
}

/// Waits until an object is ready in this generation.
async fn ready(foos: &Api<DynamicObject>, name: &str, generation: i64) -> anyhow::Result<()> {
    let ready = |object: Option<&DynamicObject>| {
        object.is_some_and(|object| is_ready(&object.data, generation))
    };
    await_condition(foos.clone(), name, ready).await?;
    Ok(())
}

pub fn name(i: usize) -> String {
    format!("foo-{i:05}")
}

/// Watches the objects become ready.
pub struct Ready {
    events: BoxStream<'static, watcher::Result<watcher::Event<DynamicObject>>>,
    ready: HashSet<String>,
}

impl Ready {
    pub fn new(foos: Api<DynamicObject>) -> Self {
        let events = watcher(foos, watcher::Config::default());
        Self {
            events: events.default_backoff().boxed(),
            ready: HashSet::new(),
        }
    }

    pub async fn listed(&mut self) -> anyhow::Result<()> {
        while let Some(event) = self.events.next().await {
            if matches!(event?, watcher::Event::InitDone) {
                break;
            }
        }
        Ok(())
    }

    pub fn forget(&mut self) {
        self.ready.clear();
    }

    /// Waits until all objects are ready in this generation; returns the seconds to the first and to the last.
    pub async fn wait(&mut self, objects: usize, generation: i64) -> anyhow::Result<(f64, f64)> {
        let (started, mut first) = (Instant::now(), 0.0);
        while self.ready.len() < objects {
            let event = self.events.next().await.context("the watch ended")??;
            if let watcher::Event::Apply(object) = event
                && is_ready(&object.data, generation)
            {
                if self.ready.is_empty() {
                    first = started.elapsed().as_secs_f64();
                }
                self.ready.insert(object.name_any());
            }
        }
        Ok((first, started.elapsed().as_secs_f64()))
    }
}

pub fn is_ready(object: &Value, generation: i64) -> bool {
    let status = &object["status"];
    let conditions = status["conditions"].as_array();
    let ready = conditions.into_iter().flatten();
    let mut ready = ready.filter(|condition| condition["type"] == "Ready");
    status["observedGeneration"].as_i64() >= Some(generation)
        && ready.any(|condition| condition["status"] == "True")
}
