//! Starts the webhook server, and stops it after everything else.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::Context as _;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, ready},
};
use k8s_openapi::{
    api::admissionregistration::v1::{
        MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::api::ApiResource;
use rustls::ServerConfig;
use tokio::{sync::watch, task::JoinSet, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::{
    certificates::Rotator,
    manager::{Manager, run::Tasks},
    options::WebhookCertificate,
    servers::{
        client_ca::ClientCa,
        http::{self, Server},
        tls,
    },
    webhook::{Callers, Task, handler},
};

/// How long a connection may be idle: longer than the API server keeps an idle one (90 s), so that no connection is
/// closed while a request is on its way.
const IDLE: Duration = Duration::from_secs(120);

/// The served certificate, once there is one; it may change later.
type Certificate = BoxFuture<'static, anyhow::Result<watch::Receiver<Arc<ServerConfig>>>>;

impl Manager {
    /// Whether this process serves webhooks.
    pub(crate) fn serves_webhooks(&self) -> bool {
        self.options.enable_webhooks && !self.webhooks.is_empty()
    }

    /// Starts the webhook server, if there are webhooks. It is ready once it has a certificate. After `stop`, it goes
    /// on for `--shutdown-delay`, because requests arrive until it is known everywhere that this replica is
    /// terminating; and until `idle`, because reconciles write objects that are validated and converted here.
    pub(crate) async fn start_webhooks(
        &mut self,
        stop: &CancellationToken,
        idle: &CancellationToken,
    ) -> anyhow::Result<Tasks> {
        let mut servers = JoinSet::new();
        if !self.serves_webhooks() {
            if !self.webhooks.is_empty() {
                tracing::info!("webhooks are turned off");
            }
            return Ok(servers);
        }
        let options = &self.options;
        let host = options.webhook_host.as_deref().unwrap_or_default();
        let listener = http::bind(&format!("{host}:{}", options.webhook_port)).await?;
        let address = listener.local_addr()?;
        let certificate = self.webhook_certificate(stop, &mut servers)?;
        let (certificate, callers) = match &options.webhook_client_ca {
            Some(file) => (
                asking(certificate, ClientCa::load(file)?),
                Callers::Certified,
            ),
            None => (certificate, Callers::Everyone),
        };
        let handler = handler(&self.webhooks, callers, &self.clients.always, &self.metrics);
        let serving = Arc::new(AtomicBool::new(false));
        self.ready_when_serving(&serving);
        let (stop, idle, delay) = (stop.clone(), idle.clone(), options.shutdown_delay);
        // It drains from the start behind the relay of kbr-testing, which connects each connection to one of several operators:
        // one could not end without closing a connection that is about to be used, unless each response closes its own.
        let draining = stop.child_token();
        if std::env::var_os("KBR_WEBHOOK_RELAY").is_some() {
            draining.cancel();
        }
        servers.spawn(async move {
            let Some(tls) = stop.run_until_cancelled(certificate).await.transpose()? else {
                return Ok(());
            };
            let server = Server {
                listener,
                tls: Some(tls),
                handler,
            };
            tracing::info!(%address, "serving webhooks");
            serving.store(true, Ordering::Relaxed);
            let end = CancellationToken::new();
            let run = server.drain(IDLE, draining, end.clone());
            let late = async {
                stop.cancelled().await;
                tokio::join!(sleep(delay), idle.cancelled());
                end.cancel();
            };
            tokio::join!(run, late);
            Ok(())
        });
        Ok(servers)
    }

    fn ready_when_serving(&self, serving: &Arc<AtomicBool>) {
        let serving = serving.clone();
        let check = move || {
            let ready = serving.load(Ordering::Relaxed);
            ready
                .then_some(())
                .ok_or_else(|| "no certificate has been issued yet".to_owned())
        };
        self.health.add_own_ready("webhooks", check);
    }

    /// Reads the certificate from its files, or adds the certificate rotator to `tasks`.
    fn webhook_certificate(
        &self,
        stop: &CancellationToken,
        tasks: &mut Tasks,
    ) -> anyhow::Result<Certificate> {
        let options = &self.options;
        let source = match (options.webhook_certificate, &options.webhook_cert_path) {
            (Some(source), _) => source,
            (None, Some(_)) => WebhookCertificate::Files,
            (None, None) => WebhookCertificate::Memory,
        };
        let loaded = match source {
            WebhookCertificate::SelfManaged => {
                let namespace = options
                    .webhook_namespace
                    .as_deref()
                    .filter(|it| !it.is_empty());
                let namespace = namespace.unwrap_or(self.clients.always.default_namespace());
                let client = self.clients.always.clone();
                let (id, prefix) = (&self.id, self.webhook_prefix());
                let (rotator, first) = Rotator::new(client, id, prefix, namespace, self.trusting());
                tasks.spawn(rotator.run(stop.clone()).map(Ok));
                return Ok(Box::pin(async { Ok(first.await?) }));
            }
            WebhookCertificate::Files => {
                let directory = options.webhook_cert_path.as_ref().context(
                    "`--webhook-certificate=files` needs to know where they are\n\
                     help: add `--webhook-cert-path`",
                )?;
                let (certificate, key) = (&options.webhook_cert_name, &options.webhook_cert_key);
                tls::Files::new(directory, certificate, key).watch(self.metrics.certificates())?
            }
            WebhookCertificate::Memory => tls::self_signed()?,
        };
        Ok(Box::pin(ready(Ok(loaded))))
    }

    /// What the names of the objects that belong to the webhooks begin with.
    fn webhook_prefix(&self) -> &str {
        let project = self.id.split('.').next().unwrap_or(&self.id);
        let given = self.options.webhook_name.as_deref();
        given.filter(|name| !name.is_empty()).unwrap_or(project)
    }

    /// The objects whose CA bundle the API server uses when it calls these webhooks.
    fn trusting(&self) -> Vec<(ApiResource, String)> {
        let prefix = self.webhook_prefix();
        let has = |task| self.webhooks.values().any(|webhook| webhook.task == task);
        let mut all = Vec::new();
        if has(Task::Default) {
            let name = format!("{prefix}-mutating-webhook-configuration");
            all.push((
                ApiResource::erase::<MutatingWebhookConfiguration>(&()),
                name,
            ));
        }
        if has(Task::Validate) {
            let name = format!("{prefix}-validating-webhook-configuration");
            all.push((
                ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
                name,
            ));
        }
        // Another release's rotator would remove this CA from its CRDs, and this one that of the other.
        let crds = self.conversions.crds().into_iter();
        for name in crds.filter(|_| self.options.webhook_conversion) {
            all.push((ApiResource::erase::<CustomResourceDefinition>(&()), name));
        }
        all
    }
}

/// The same certificate, in a configuration that asks clients for theirs.
fn asking(certificate: Certificate, authority: ClientCa) -> Certificate {
    Box::pin(async move { authority.ask(certificate.await?) })
}
