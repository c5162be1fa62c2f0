//! An operator for built-in kinds: restarts a Deployment when the `ConfigMap` changes that is named in the annotation
//! `example.com/reload`. `kill -USR1` makes it reconcile all Deployments.

use std::{process::ExitCode, sync::Arc};

use clap::Parser;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::ResourceExt;
use manager::{
    Action, Context, Key, Manager, Options, Trigger, kind,
    predicate::{annotations_changed, generation_changed},
};
use tokio::signal::unix::{SignalKind, signal};

/// The annotation on a Deployment that names the `ConfigMap`.
const RELOAD: &str = "example.com/reload";

/// The annotation on the template of Pods with the version of the `ConfigMap` that they use.
const VERSION: &str = "example.com/version";

/// Restarts Deployments whose settings have changed
#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    manager: Options,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { manager } = Cli::parse();
    manager::exit(run(manager).await)
}

async fn run(options: Options) -> anyhow::Result<()> {
    let mut manager = Manager::new(options, "reloader.example.com").await?;
    register(&mut manager);
    manager.run().await
}

fn register(manager: &mut Manager) {
    let again = Trigger::new();
    manager
        .controller::<Deployment>("reloader")
        .when(|old, new| generation_changed(old, new) || annotations_changed(old, new))
        .watches(
            kind::<ConfigMap>().when(|old, new| old.data != new.data),
            |map, cached| {
                let deployments = cached.list::<Deployment>();
                deployments.by(config_map, Key::of(map)).keys()
            },
        )
        .triggered_by(&again)
        .reconcile(reconcile);
    manager.leading("again", async move |running| {
        let mut asked = signal(SignalKind::user_defined1())?;
        loop {
            tokio::select! {
                _ = asked.recv() => again.enqueue_all(),
                () = running.stopped() => return Ok(()),
            }
        }
    });
}

/// The key of the `ConfigMap` that a Deployment names.
fn config_map(deployment: &Deployment) -> Vec<String> {
    let name = deployment.annotations().get(RELOAD);
    let key = name.map(|name| Key::new(deployment.namespace().as_deref(), name));
    key.iter().map(Key::to_string).collect()
}

async fn reconcile(deployment: Arc<Deployment>, cx: Context<Deployment>) -> anyhow::Result<Action> {
    tracing::debug!("looking");
    let Some(name) = deployment.annotations().get(RELOAD) else {
        return Ok(Action::await_change());
    };
    let Some(map) = cx.get::<ConfigMap>(name)? else {
        cx.warning("NoConfigMap", format!("there is no ConfigMap `{name}`"));
        return Ok(Action::await_change());
    };
    let version = map.resource_version().unwrap_or_default();
    let restart = |deployment: &mut Deployment| {
        let template = &mut deployment.spec.template;
        let meta = template.metadata.get_or_insert_default();
        let annotations = meta.annotations.get_or_insert_default();
        annotations.insert(VERSION.to_owned(), version.clone());
    };
    cx.update(&*deployment, restart).await?;
    Ok(Action::await_change())
}

#[cfg(test)]
mod tests {
    use kbr_testing::FakeApi;

    use super::*;

    #[tokio::test]
    async fn the_pod_template_records_the_version_of_its_configmap() {
        let api = FakeApi::new();
        let mut map = ConfigMap::default();
        map.metadata.name = Some("settings".to_owned());
        api.put(&map);
        let mut deployment = Deployment::default();
        deployment.metadata.name = Some("web".to_owned());
        let names = (RELOAD.to_owned(), "settings".to_owned());
        deployment.annotations_mut().extend([names]);
        api.put(&deployment);

        api.reconcile(register, "web").await.unwrap();
        let map: ConfigMap = api.get("default", "settings").unwrap();
        let deployment: Deployment = api.get("default", "web").unwrap();
        let template = deployment.spec.template.metadata.unwrap();
        assert_eq!(
            template.annotations.unwrap().get(VERSION),
            map.metadata.resource_version.as_ref()
        );
    }
}
