//! The operator under test, and its kind. The operator is this test binary, called with `operator` and flags.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::Parser;
use k8s_openapi::{
    api::core::v1::ConfigMap,
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta},
};
use kube::{
    Api, CustomResource, ResourceExt as _,
    api::{PartialObjectMeta, Patch, PatchParams},
};
use manager::{Action, Context, Options, kind, metadata};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;

use crate::author;

/// The id of the operator, which names its Lease.
pub const ID: &str = "sailors.example.com";

/// The variable that selects what runs the operator: the function `run` or `run_until` of the manager; or `dropped`, which
/// drops the manager while it leads, and goes on for a while without it.
pub const RUN: &str = "SAILORS_RUN";

/// How long the process goes on without its manager.
const GOES_ON: Duration = Duration::from_secs(10);

/// The variable that lets the operator count parrots, which are an optional kind.
pub const PARROTS: &str = "SAILORS_PARROTS";

/// An optional kind.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "birds.example.com",
    version = "v1",
    kind = "Parrot",
    namespaced
)]
pub struct ParrotSpec {}

/// The desired state of a sailor.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "crew.example.com",
    version = "v1",
    kind = "Sailor",
    namespaced,
    status = "SailorStatus",
    derive = "Default"
)]
#[serde(rename_all = "camelCase", default)]
pub struct SailorSpec {
    /// Copied to the child and to the status.
    pub text: String,
    /// The duration of a reconcile, between writing the child and the status, in milliseconds.
    pub takes: u64,
    /// The interval of reconciles in milliseconds; 0 for none.
    pub every: u64,
    /// Whether each reconcile changes the child.
    pub restless: bool,
    /// Whether another writer changes the child once, between a reconcile's read and its apply.
    pub contested: bool,
    /// Whether a child with a generated name is created unless it exists, once a `ConfigMap` named `go` does.
    pub generates: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// The fault in a reconcile.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
pub enum Fault {
    Fail,
    Panic,
    /// Never returns.
    Hang,
    /// Never returns, and blocks its thread.
    Block,
}

/// The observed state of a sailor.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SailorStatus {
    pub text: String,
    /// Written by another writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// The text that another writer wrote to the child, as the last reconcile read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    pub conditions: Vec<Condition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    manager: Options,
    /// Where the beginning and the end of each reconcile are noted.
    #[arg(long)]
    journal: PathBuf,
}

/// Runs the operator, with the arguments after `operator`.
#[tokio::main]
pub async fn main() -> ExitCode {
    let cli = Cli::parse_from(std::env::args().skip(1));
    manager::exit(run(cli).await)
}

async fn run(Cli { manager, journal }: Cli) -> anyhow::Result<()> {
    let journal = OpenOptions::new().create(true).append(true).open(journal)?;
    let journal = Arc::new(journal);
    let mut manager = author::manager(manager).await?;
    let controller = manager
        .controller::<Sailor>("sailor")
        .owns(metadata::<ConfigMap>())
        .conditions(|status| (&mut status.conditions, &mut status.observed_generation));
    let reconciled = Arc::new(Notify::new());
    let begun = reconciled.clone();
    let reconcile = move |sailor, cx| {
        begun.notify_one();
        reconcile(sailor, cx, journal.clone())
    };
    if std::env::var_os(PARROTS).is_some() {
        controller
            .watches(kind::<Parrot>().optional(), |_, cached| {
                cached.list::<Sailor>().keys()
            })
            .reconcile(reconcile);
    } else {
        controller.reconcile(reconcile);
    }
    match std::env::var(RUN).as_deref() {
        Ok("run_until") => manager.run_until(std::future::pending()).await,
        Ok("dropped") => {
            tokio::select! {
                ended = manager.run_until(std::future::pending()) => return ended,
                () = reconciled.notified() => {}
            }
            drop(manager);
            tokio::time::sleep(GOES_ON).await;
            Ok(())
        }
        _ => manager.run().await,
    }
}

async fn reconcile(
    sailor: Arc<Sailor>,
    cx: Context<Sailor>,
    journal: Arc<File>,
) -> anyhow::Result<Action> {
    let _entry = Entry::begin(&journal, cx.name());
    let spec = &sailor.spec;
    match spec.fault {
        Some(Fault::Fail) => anyhow::bail!("told to fail"),
        Some(Fault::Panic) => panic!("told to panic"),
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::Block) => loop {
            std::thread::park();
        },
        None => {}
    }
    if spec.contested {
        let seen = contest(&cx).await?;
        cx.status(|status| status.seen = seen);
    }
    if spec.generates && cx.get_live::<ConfigMap>("go").await?.is_some() {
        generate(&cx).await?;
    }
    cx.apply(&child(&sailor)).await?;
    if std::env::var_os(PARROTS).is_some() {
        let (installed, count) = (
            cx.is_installed::<Parrot>()?,
            cx.list::<Parrot>().all()?.len(),
        );
        cx.status(|status| status.seen = Some(format!("{installed} {count}")));
    }
    tokio::time::sleep(Duration::from_millis(spec.takes)).await;
    cx.status(|status| status.text.clone_from(&spec.text));
    cx.ready("Done", "all is well");
    Ok(match spec.every {
        0 => Action::await_change(),
        every => Action::requeue(Duration::from_millis(every)),
    })
}

/// Reads the text that another writer wrote to the child; if there is none, writes one as another writer.
async fn contest(cx: &Context<Sailor>) -> anyhow::Result<Option<String>> {
    let namespace = cx.namespace().unwrap_or_default();
    let children: Api<ConfigMap> = Api::namespaced(cx.client(), namespace);
    let Some(child) = children.get_opt(cx.name()).await? else {
        return Ok(None);
    };
    let seen = child.data.unwrap_or_default().remove("other");
    if seen.is_none() {
        let patch = Patch::Merge(json!({"data": {"other": "theirs"}}));
        let params = PatchParams::apply("another");
        children.patch(cx.name(), &params, &patch).await?;
    }
    Ok(seen)
}

/// Creates a child with a generated name if the cache shows none.
async fn generate(cx: &Context<Sailor>) -> anyhow::Result<()> {
    let children = cx.children::<PartialObjectMeta<ConfigMap>>()?;
    if children.iter().all(|child| child.name_any() == cx.name()) {
        let mut child = ConfigMap::default();
        child.metadata.generate_name = Some("generated-".to_owned());
        let child = cx.create(&child).await?;
        let event = cx.event_about(&*child).action("Generate");
        event
            .related(&**cx.object())
            .normal("Generated", "it has no other");
    }
    Ok(())
}

/// The child of a sailor.
fn child(sailor: &Sailor) -> ConfigMap {
    let mut data = vec![("text".to_owned(), sailor.spec.text.clone())];
    if sailor.spec.restless {
        data.push(("now".to_owned(), now().as_nanos().to_string()));
    }
    ConfigMap {
        metadata: ObjectMeta {
            name: sailor.metadata.name.clone(),
            ..ObjectMeta::default()
        },
        data: Some(data.into_iter().collect()),
        ..ConfigMap::default()
    }
}

/// One reconcile in the journal; its end is always recorded.
struct Entry<'a> {
    journal: &'a File,
    name: &'a str,
}

impl<'a> Entry<'a> {
    fn begin(journal: &'a File, name: &'a str) -> Self {
        let entry = Self { journal, name };
        entry.note("begin");
        entry
    }

    fn note(&self, what: &str) {
        // A single write, so that lines of several threads do not mix.
        let line = format!("{} {what} {}\n", now().as_nanos(), self.name);
        let mut journal = self.journal;
        journal.write_all(line.as_bytes()).expect("a journal");
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.note("end");
    }
}

/// The time on a clock that all processes of this machine share, and that cannot be set.
pub fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let (seconds, nanos) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default())
}
