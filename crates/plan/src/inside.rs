//! The part of a plan that runs beside the operator, in a sandbox of its own: serves the clone, runs both releases, and compares.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kbr_envtest::assets::Assets;
use kbr_envtest::client::Client;
use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::folder::Folder;
use kbr_envtest::start::Cluster;
use kbr_envtest::supervision::Supervision;
use kbr_envtest::{Progress, progress, start};
use kbr_host::signals::Stop;
use kbr_manifests::overlay::Identity;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::activity::Activity;
use super::cloned::Cloned;
use super::compare::compare;
use super::discovery::{objects, text};
use super::install::{self, Installed, install};
use super::load::load;
use super::mask::mask;
use super::names::Names;
use super::read::is_served_by;
use super::release::Release;
use super::report::{Published, Report, Run};
use super::rollouts;
use super::run::Runner;
use super::state::{self, State, Versions};
use super::webhooks::Webhooks;

/// What to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The cluster.
    pub cloned: Cloned,
    /// The namespace and the name of the operator's `ServiceAccount`.
    pub operator: (String, String),
    /// The release of today, if it runs first.
    pub baseline: Option<Release>,
    /// The release to judge.
    pub next: Release,
    /// The folder of etcd, kube-apiserver and kubectl.
    pub assets: PathBuf,
    /// The seconds without a change after which an operator is idle.
    pub quiet: u64,
    /// The seconds that a release may take.
    pub limit: u64,
    /// Whether this process and the operator have a file system and a network of their own.
    pub confined: bool,
    /// Whether workloads are rolled out: `assets` has the controllers of a cluster.
    pub rollouts: bool,
}

/// Does the job.
///
/// # Errors
/// The servers do not start, refuse the clone, or a release cannot be started.
pub fn run(mut job: Job, stop: &Stop) -> anyhow::Result<Report> {
    let folder = Folder::create()?;
    let audit = folder.path.join("audit.log");
    let cluster = job.rollouts.then(|| rollouts::cluster(&job.cloned));
    let mut plane = serve(&job, &audit, cluster.as_ref(), stop)?;
    let count = job.cloned.count();
    progress("serving", &format!("{count} objects of the cluster"));
    let mut not_seen = job.cloned.unread.clone();
    let lost = load(&plane, &job.cloned)?.into_iter();
    not_seen.extend(lost.map(|it| format!("not served as it is in the cluster: {it}")));
    let client = plane.client()?;
    let activity = Activity::follow(&plane.etcd()?)?;
    if let Some(cluster) = &cluster {
        let limit = Duration::from_secs(job.limit);
        rollouts::start(&mut plane, &job.cloned, cluster, &activity, limit)?;
    }
    let versions = state::versions(&job.cloned);
    let cloned = state::read(&client, &versions, &State::new(), &mut not_seen)?;
    let (namespace, account) = job.operator.clone();
    let mut baseline = job.baseline.clone();
    if let Some(baseline) = baseline.as_mut().filter(|it| it.install.is_empty()) {
        baseline.install = installed_today(&job.cloned, &namespace);
    }
    // They are in the state by now, in less memory.
    job.cloned.kinds.clear();
    let installs = baseline
        .iter()
        .chain([&job.next])
        .flat_map(|it| &it.install);
    let webhooks = Webhooks::new(installs, &plane.folder().join("webhooks"))?;
    let mut session = Session {
        job: &job,
        activity,
        operator: Identity {
            namespace,
            account,
            watched: None,
        },
        audit,
        webhooks,
        names: if job.confined {
            // Without it, the operator finds no server of DNS.
            Names::serve().unwrap_or_default()
        } else {
            Names::default()
        },
        versions,
        installed: Installed::default(),
        unread: Vec::new(),
        events: events(&client)?,
        client,
        plane,
    };
    let mut report = Report {
        objects: count,
        ..Report::default()
    };
    let mut before = cloned;
    let mut drifted = None;
    if let Some(baseline) = &baseline {
        progress("running", "today's release");
        let (run, after, _) = session.run(baseline, &before)?;
        report.baseline = Some(run);
        drifted = Some(std::mem::replace(&mut before, after));
    }
    progress("running", "the new release");
    let (next, after, at_once) = session.run(&job.next, &before)?;
    report.next = next;
    let compare = |old: &State, new: &State| compare(old, new, &session.installed.ids);
    if let Some(cloned) = &drifted {
        report.drift = compare(cloned, &before);
    }
    report.changes = compare(&before, at_once.as_ref().unwrap_or(&after));
    if let Some(at_once) = &at_once {
        report.later = compare(at_once, &after);
        rollouts::leave_out(&mut report.later);
        rollouts::leave_out(&mut report.drift);
    }
    let unknown = session.installed.unknown.iter();
    not_seen
        .extend(unknown.map(|it| {
            format!("the installer's objects of the kind `{it}`, which has no CRD here")
        }));
    not_seen.append(&mut session.unread);
    not_seen.sort();
    not_seen.dedup();
    report.not_seen = not_seen;
    let mut states = Vec::new();
    // Those of a clone are replaced, otherwise.
    if job.cloned.secrets {
        states.extend([&before, &after]);
        states.extend(drifted.iter().chain(&at_once));
    }
    let releases = baseline.iter().chain([&job.next]);
    mask(&report, &states, releases.flat_map(|it| &it.install))
}

/// Starts an API server that takes the objects of a clone.
fn serve(
    job: &Job,
    audit: &Path,
    cluster: Option<&Cluster>,
    stop: &Stop,
) -> anyhow::Result<ControlPlane> {
    let assets = Assets {
        folder: job.assets.clone(),
    };
    let options = start::Options {
        logs: None,
        audit: Some(audit),
        limit: Duration::from_secs(120),
        stop,
        cluster,
        clone: true,
        progress: Progress::Silent,
        supervision: Supervision::Kbr,
    };
    let plane = start::start(&assets, &options)?;
    start::wait_until_ready(&plane, &options)?;
    Ok(plane)
}

/// The API server, and what the releases have left behind so far.
struct Session<'a> {
    job: &'a Job,
    plane: ControlPlane,
    client: Client,
    activity: Activity,
    operator: Identity,
    audit: PathBuf,
    webhooks: Webhooks,
    names: Names,
    versions: Versions,
    installed: Installed,
    /// What could not be read after a release has run.
    unread: Vec<String>,
    events: Events,
}

impl Session<'_> {
    /// Installs a release, and runs it until it is idle. Returns the state then, and the one before workloads were rolled out.
    fn run(
        &mut self,
        release: &Release,
        before: &State,
    ) -> anyhow::Result<(Run, State, Option<State>)> {
        let began = Instant::now();
        self.plane
            .map_services(&self.webhooks.at(release.webhook_port))?;
        let installed = install(&self.plane, &self.client, &release.install, &self.webhooks)?;
        let kinds = state::kinds(&self.client, &self.versions, &mut Vec::new())?;
        let invalid = install::invalid(&release.install, before);
        let mut runner = Runner {
            plane: &mut self.plane,
            rollouts: self.job.rollouts,
            client: &self.client,
            activity: &self.activity,
            kinds: &kinds,
            versions: &self.versions,
            operator: &self.operator,
            audit: &self.audit,
            quiet: Duration::from_secs(self.job.quiet),
            limit: Duration::from_secs(self.job.limit),
            confined: self.job.confined,
        };
        let ended = runner.run(release, &self.webhooks, before)?;
        self.unread.extend(ended.unread);
        let run = Run {
            seconds: began.elapsed().as_secs(),
            failed: ended.failed,
            log: ended.log,
            not_installed: installed.refused,
            invalid,
            refused: ended.requests.refused.into_keys().collect(),
            denied: ended.requests.denied.into_iter().collect(),
            looked_up: self.names.take(),
            events: self.published()?,
        };
        self.installed.ids.extend(installed.ids);
        self.installed.unknown.extend(installed.unknown);
        Ok((run, ended.state, ended.at_once))
    }

    /// The events since the last call, equal ones once.
    fn published(&mut self) -> anyhow::Result<Vec<Published>> {
        let now = events(&self.client)?;
        let mut all: BTreeMap<(String, String), Published> = BTreeMap::new();
        for (uid, (count, event)) in &now {
            let before = self.events.get(uid).map_or(0, |(count, _)| *count);
            let new = count.saturating_sub(before);
            if new == 0 {
                continue;
            }
            let about = &event["regarding"];
            let name = super::load::full_name(text(&about["namespace"]), text(&about["name"]));
            let key = (
                text(&event["type"]).to_owned(),
                text(&event["reason"]).to_owned(),
            );
            let known = all.entry(key.clone()).or_insert_with(|| Published {
                r#type: key.0,
                reason: key.1,
                example: format!("{} {name}: {}", text(&about["kind"]), text(&event["note"])),
                count: 0,
            });
            known.count += new;
        }
        self.events = now;
        let mut all: Vec<Published> = all.into_values().collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.count));
        Ok(all)
    }
}

/// What calls the webhooks of the operator in the cluster: a clone does not install it.
fn installed_today(cloned: &Cloned, namespace: &str) -> Vec<Value> {
    let objects = cloned.kinds.iter().flat_map(|it| &it.objects);
    let own = objects.filter(|it| {
        let conversion = &it["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
        conversion["namespace"] == namespace || is_served_by(it, namespace)
    });
    let applied = |object: &Value| {
        let mut object = object.clone();
        if let Some(meta) = object["metadata"].as_object_mut() {
            meta.retain(|key, _| ["name", "labels", "annotations"].contains(&key.as_str()));
        }
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        object
    };
    own.map(applied).collect()
}

/// By uid: how often each has occurred, and the event.
type Events = BTreeMap<String, (u64, Value)>;

fn events(client: &Client) -> anyhow::Result<Events> {
    let get = |path: &str| Ok(serde_json::from_reader(client.get(path)?)?);
    let mut found = objects(&get, "/apis/events.k8s.io/v1/events", "")?;
    // The API server's own, about addresses of another network, and those of the controllers of workloads.
    found.retain(|it| {
        let by = text(&it["reportingController"]);
        let by = if by.is_empty() {
            text(&it["deprecatedSource"]["component"])
        } else {
            by
        };
        !by.contains("allocator") && !rollouts::PUBLISHERS.contains(&by)
    });
    let event = |it: Value| {
        let series = it["series"]["count"].as_u64();
        let count = series
            .or(it["deprecatedCount"].as_u64())
            .unwrap_or(1)
            .max(1);
        (text(&it["metadata"]["uid"]).to_owned(), (count, it))
    };
    Ok(found.into_iter().map(event).collect())
}
