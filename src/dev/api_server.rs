//! kbr's own API server, and the objects installed in it.

use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use serde_json::Value;

use super::deletion;
use super::options::Options;
use super::samples::{self, Samples};
use super::service_account::ServiceAccount;
use super::webhooks::Webhooks;
use crate::sources::Seen;
use kbr_envtest::apply::{apply, report_installed};
use kbr_envtest::client::Client;
use kbr_envtest::cluster;
use kbr_envtest::control_plane::ControlPlane;
use kbr_envtest::supervision::Supervision;
use kbr_envtest::{Progress, crds, progress, start};
use kbr_host::diagnostic::Problem;
use kbr_host::output;
use kbr_host::signals::Stop;
use kbr_manifests::overlay;
use kbr_scaffold::workdir;

/// kbr's own API server, and the objects installed in it.
pub struct ApiServer {
    webhooks: Webhooks,
    definitions: Vec<Value>,
    configurations: Vec<Value>,
    account: ServiceAccount,
    /// The files that the account's permissions were rendered from.
    rendered: Option<Seen>,
    samples: Option<Samples>,
    /// The samples of a deletion that waits for the operator's clean-ups.
    deleted: Option<Samples>,
    /// Whether the objects are there in the next run.
    keeps: bool,
    plane: ControlPlane,
}

fn start(options: &mut Options, root: &Path, stop: &Stop) -> anyhow::Result<ControlPlane> {
    if let Some(cluster) = options.cluster.clone().filter(|_| options.keep) {
        let project = workdir::load(root)?.head.name;
        let options = cluster::Options {
            cluster,
            keep: true,
            merge_kubeconfig: false,
            start_timeout: options.start_timeout,
            store: options.store.clone(),
        };
        return cluster::run(&format!("dev-{project}"), &options, stop);
    }
    let assets = options.assets.as_ref().context("no programs found")?;
    let load = options.load.take();
    let start = start::Options {
        logs: None,
        audit: None,
        limit: options.start_timeout,
        stop,
        cluster: options.cluster.as_ref(),
        clone: load.is_some(),
        progress: Progress::Reported,
        supervision: Supervision::Kbr,
    };
    let mut plane = start::start(assets, &start)?;
    if let Some(load) = load {
        load(&mut plane)?;
    }
    start::wait_until_ready(&plane, &start)?;
    Ok(plane)
}

impl ApiServer {
    /// Starts it, and prints how to reach it. Fails after the time limit, or when `stop` is set. If the data is kept, the cluster is
    /// named after the project in `root`.
    pub fn start(options: &mut Options, root: &Path, stop: &Stop) -> anyhow::Result<Self> {
        let started = Instant::now();
        let mut plane = start(options, root, stop)?;
        plane.report_server_exits();
        let seconds = started.elapsed().as_secs_f32();
        progress(
            "ready",
            &format!("after {seconds:.1} s; in another terminal:"),
        );
        let server = Self {
            webhooks: Webhooks::new(plane.folder())?,
            definitions: Vec::new(),
            configurations: Vec::new(),
            account: ServiceAccount::default(),
            rendered: None,
            samples: options.samples.then(Samples::default),
            deleted: None,
            keeps: options.keep,
            plane,
        };
        output::message(format_args!("{:>12} {}", "", server.export()));
        Ok(server)
    }

    /// How to use it in another terminal.
    pub fn export(&self) -> String {
        let kubeconfig = self.plane.folder().join("kubeconfig");
        format!("export KUBECONFIG={}", kubeconfig.display())
    }

    /// A client for its API server.
    pub fn client(&self) -> anyhow::Result<Client> {
        self.plane.client()
    }

    /// Applies the samples next, and whenever they change.
    pub fn request_samples(&mut self, root: &Path) -> anyhow::Result<()> {
        anyhow::ensure!(
            overlay::exists(root, samples::FOLDER),
            "the project has no kustomization in `{}`",
            samples::FOLDER
        );
        self.samples
            .insert(Samples::default())
            .read(&self.plane, root)
    }

    /// Reads the samples, if they are to be applied.
    pub fn read_samples(&mut self, root: &Path) -> anyhow::Result<()> {
        match &mut self.samples {
            Some(samples) => samples.read(&self.plane, root),
            None => Ok(()),
        }
    }

    /// Applies the samples if they have changed.
    pub fn apply_samples(&mut self) {
        if let Some(samples) = &mut self.samples {
            samples.apply(&self.plane);
        }
    }

    /// Deletes all objects of the operator's kinds. The samples are not applied again until the user requests it.
    pub fn request_deletion(&mut self) -> anyhow::Result<()> {
        let client = self.plane.client()?;
        let found = deletion::find(&client, &self.definitions)?;
        deletion::delete(&client, &found)?;
        let s = if found.len() == 1 { "" } else { "s" };
        let waits = "; the operator cleans up";
        progress("deleting", &format!("{} object{s}{waits}", found.len()));
        let samples = self.samples.take().or(self.deleted.take());
        self.deleted = Some(samples.unwrap_or_default());
        Ok(())
    }

    /// Once the operator has cleaned up, deletes the samples of other kinds, which it may have needed for that.
    pub fn finish_deletion(&mut self) -> anyhow::Result<()> {
        if self.deleted.is_none() {
            return Ok(());
        }
        let found = deletion::find(&self.plane.client()?, &self.definitions)?;
        if let Some(samples) = self.deleted.take_if(|_| found.is_empty()) {
            samples.delete(&self.plane)?;
            progress("deleted", "all objects of the operator's kinds");
        }
        Ok(())
    }

    /// The warning about objects whose clean-ups will never run.
    pub fn discarded(&self) -> Option<Problem> {
        // Without an API server, no one knows.
        let found = deletion::find(&self.plane.client().ok()?, &self.definitions).ok()?;
        let names = deletion::unfinished(&found);
        let text = format!("discarded without a clean-up: {}", names.join(", "));
        let help = "what the operator made for them elsewhere is still there; next time, press d before q on the screen, or delete them with kubectl before you stop `kbr dev`";
        (!self.keeps && !names.is_empty()).then(|| Problem::new(text).help(help))
    }

    /// The flags that make this API server able to call the operator's webhooks.
    pub fn arguments(&self) -> Vec<OsString> {
        self.webhooks.arguments()
    }

    /// The environment variables with which the operator reaches the API server as its service account.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let mut environment = self.plane.environment();
        environment.extend(self.account.environment());
        environment
    }

    /// Installs the operator's service account and roles if any of the `manifests` but the CRDs has changed: to render them takes
    /// longer than everything else.
    pub fn install_permissions(&mut self, root: &Path, manifests: &Seen) -> anyhow::Result<()> {
        let definitions = root.join(kbr_manifests::CRDS);
        let mut others = manifests.clone();
        others.retain(|path, _| !path.starts_with(&definitions));
        if self.rendered.as_ref() != Some(&others) {
            self.account.install(&self.plane, root)?;
            self.rendered = Some(others);
        }
        Ok(())
    }

    /// Installs the CRDs if they have changed.
    pub fn install_definitions(&mut self, root: &Path) -> anyhow::Result<()> {
        let bases = root.join(kbr_manifests::CRDS);
        if !bases.is_dir() {
            return Ok(());
        }
        let mut definitions = crds::read(&bases)?;
        for crd in &mut definitions {
            self.webhooks.redirect(crd);
        }
        if definitions != self.definitions {
            crds::install(&self.plane, &definitions)?;
            crds::report_installed(&definitions);
            self.definitions = definitions;
        }
        Ok(())
    }

    /// Lets the API server call exactly the current webhooks.
    pub fn install_webhooks(&mut self, root: &Path) -> anyhow::Result<()> {
        let configurations = self.webhooks.configurations(root)?;
        if configurations != self.configurations {
            apply(&self.plane, &configurations, "webhooks")?;
            let webhooks = configurations.iter().map(|object| &object["webhooks"]);
            let count = webhooks.filter_map(Value::as_array).map(Vec::len).sum();
            report_installed(count, "webhook");
            self.configurations = configurations;
        }
        Ok(())
    }
}
