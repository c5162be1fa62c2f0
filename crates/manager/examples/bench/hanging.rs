//! Measures how long the objects of one tenant that hang, and those queued behind them, delay the objects of another.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, PostParams},
};
use tokio::time::timeout;

use crate::{
    Cli,
    objects::{change_one, create, is_ready, name},
    operator::Operator,
    row,
};

/// The objects that hang: as many as there are workers. The operator never reconciles objects of such a name.
const HANGING: usize = 10;

/// How many times the object of the other tenant changes.
const CHANGES: usize = 10;

/// When it gives up.
const LIMIT: Duration = Duration::from_secs(60);

pub async fn hanging(cli: &Cli, client: Client, kind: &ApiResource) -> anyhow::Result<()> {
    let theirs = tenant(&client, kind, "hanging").await?;
    let ours = tenant(&client, kind, "other").await?;
    create(&ours, [name(0)].into_iter()).await?;
    let operator = Operator::start(cli)?;
    operator.settle().await?;
    create(&theirs, (0..HANGING).map(|i| format!("hang-{i}"))).await?;
    operator.settle().await?;
    create(&theirs, (0..cli.objects).map(name)).await?;
    operator.settle().await?;

    let took = changes(&ours).await?;
    let first = took.first().copied();
    row("changed by another tenant: ready", &seconds(first));
    let slowest = took.iter().copied().reduce(f64::max);
    let slowest = slowest.filter(|_| took.len() == CHANGES);
    row("changed ten times: the slowest ready", &seconds(slowest));
    let all = theirs.list(&ListParams::default()).await?.items;
    let ready = all.iter().filter(|it| is_ready(&it.data, 1)).count();
    row(
        "ready of the tenant whose objects hang",
        &format!("{ready} of {}", all.len()),
    );
    Ok(())
}

/// Changes the object several times, and returns the seconds until it is ready; none for a change that takes too long.
async fn changes(foos: &Api<DynamicObject>) -> anyhow::Result<Vec<f64>> {
    let (mut took, name) = (Vec::new(), name(0));
    for change in 0..CHANGES {
        let changed = change_one(foos, &name, 2 + change % 2);
        let Ok(changed) = timeout(LIMIT, changed).await else {
            break;
        };
        took.push(changed?);
    }
    Ok(took)
}

fn seconds(took: Option<f64>) -> String {
    match took {
        Some(seconds) => format!("{seconds:.2} s after the change"),
        None => format!("more than {} s after the change", LIMIT.as_secs()),
    }
}

/// Creates a namespace, and returns its objects.
async fn tenant(
    client: &Client,
    kind: &ApiResource,
    name: &str,
) -> anyhow::Result<Api<DynamicObject>> {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &namespace)
        .await?;
    Ok(Api::namespaced_with(client.clone(), name, kind))
}
