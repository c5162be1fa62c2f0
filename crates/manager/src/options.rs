//! The flags of an operator.

mod values;

use std::{path::PathBuf, time::Duration};

use clap::ArgAction;

pub(crate) use self::values::duration;
pub use self::values::{Address, WebhookCertificate};
use self::values::{no_http2, not_false};
use crate::logs::LogFormat;

// The groups of flags in the help.
const METRICS: &str = "Metrics";
const PROBES: &str = "Probes";
const WEBHOOKS: &str = "Webhooks";
const LEADER_ELECTION: &str = "Leader election";
const RECONCILING: &str = "Reconciling";
const SHUTDOWN: &str = "Shutdown";
const API_SERVER: &str = "API server";
const LOGS: &str = "Logs";

/// The flags that every operator has; those that kubebuilder has, too, under its names.
///
/// Flatten it into your own: `#[command(flatten)] manager: Options`. To set some in code, change the fields of
/// `Options::default()`; it reads no environment.
///
/// ```
/// # use manager::Options;
/// let mut options = Options::default();
/// options.leader_elect = true;
/// options.metrics_bind_address = ":8443".parse()?;
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, clap::Args)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct Options {
    /// Serve metrics on this address, such as `:8443`; `0` turns them off
    #[arg(long, value_name = "ADDRESS", default_value = "0", help_heading = METRICS)]
    pub metrics_bind_address: Address,

    /// Serve metrics over TLS, and only to those whom the cluster allows
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, help_heading = METRICS)]
    pub metrics_secure: bool,

    /// The directory with the certificate of the metrics server; without one it makes its own
    #[arg(long, value_name = "DIRECTORY", help_heading = METRICS)]
    pub metrics_cert_path: Option<PathBuf>,

    /// The file of the certificate in that directory
    #[arg(long, value_name = "FILE", default_value = "tls.crt", help_heading = METRICS)]
    pub metrics_cert_name: String,

    /// The file of its key
    #[arg(long, value_name = "FILE", default_value = "tls.key", help_heading = METRICS)]
    pub metrics_cert_key: String,

    /// Serve `/healthz` and `/readyz` on this address; `0` turns them off
    #[arg(long, value_name = "ADDRESS", default_value = ":8081", help_heading = PROBES)]
    pub health_probe_bind_address: Address,

    /// Serve webhooks; anything but `false` means yes
    #[arg(long, value_name = "BOOL", env = "ENABLE_WEBHOOKS", default_value = "true", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = not_false, help_heading = WEBHOOKS)]
    pub enable_webhooks: bool,

    /// Serve webhooks on this port
    #[arg(long, value_name = "PORT", default_value_t = 9443, help_heading = WEBHOOKS)]
    pub webhook_port: u16,

    /// Serve webhooks on this address of the host only; on all, if not given
    #[arg(long, value_name = "ADDRESS", help_heading = WEBHOOKS)]
    pub webhook_host: Option<String>,

    /// Where the certificate of webhooks comes from; from files if their directory is given, and from memory if not
    #[arg(long, value_enum, value_name = "SOURCE", help_heading = WEBHOOKS)]
    pub webhook_certificate: Option<WebhookCertificate>,

    /// The namespace of the operator, where the Secret of a self-managed certificate is
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE", help_heading = WEBHOOKS)]
    pub webhook_namespace: Option<String>,

    /// What the names of the Service, the Secret and the configurations of webhooks begin with; the project's name, if not
    /// given. A second release of the operator in a cluster has names of its own
    #[arg(long, value_name = "NAME", help_heading = WEBHOOKS)]
    pub webhook_name: Option<String>,

    /// Keep the CA bundles of the CRDs with conversion; `false` if they name another release of this operator
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, help_heading = WEBHOOKS)]
    pub webhook_conversion: bool,

    /// The directory with the certificate of the webhook server
    #[arg(long, value_name = "DIRECTORY", help_heading = WEBHOOKS)]
    pub webhook_cert_path: Option<PathBuf>,

    /// The file of the certificate in that directory
    #[arg(long, value_name = "FILE", default_value = "tls.crt", help_heading = WEBHOOKS)]
    pub webhook_cert_name: String,

    /// The file of its key
    #[arg(long, value_name = "FILE", default_value = "tls.key", help_heading = WEBHOOKS)]
    pub webhook_cert_key: String,

    /// Admit objects only for clients with a certificate of a CA in this file, which the API server must be given;
    /// conversion needs none
    #[arg(long, value_name = "FILE", help_heading = WEBHOOKS)]
    pub webhook_client_ca: Option<PathBuf>,

    /// Never: servers speak HTTP/1.1 only. The flag exists to say so to users of kubebuilder
    #[arg(long, hide = true, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = no_http2)]
    pub enable_http2: bool,

    /// Run controllers in one replica at a time, the one that holds the Lease
    #[arg(long, value_name = "BOOL", default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, help_heading = LEADER_ELECTION)]
    pub leader_elect: bool,

    /// The name of the Lease; the operator's id, if not given. Replicas with the same Lease take turns
    #[arg(long, value_name = "NAME", help_heading = LEADER_ELECTION)]
    pub leader_election_id: Option<String>,

    /// The namespace of the Lease; that of the Pod, or of the kubeconfig, if not given
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE", help_heading = LEADER_ELECTION)]
    pub leader_election_namespace: Option<String>,

    /// How long another replica waits before it takes an unrenewed Lease
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration, help_heading = LEADER_ELECTION)]
    pub leader_election_lease_duration: Duration,

    /// How long the leader may fail to renew its Lease before it stops leading
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration, help_heading = LEADER_ELECTION)]
    pub leader_election_renew_deadline: Duration,

    /// How often the Lease is renewed, or tried for
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration, help_heading = LEADER_ELECTION)]
    pub leader_election_retry_period: Duration,

    /// Fill the caches before this replica leads, so that it reconciles at once when it does; it needs as much memory
    /// as the leader then, and sends the API server as many watches. Without `--leader-elect` it has no effect
    #[arg(long, value_name = "BOOL", default_value_t = false, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, help_heading = LEADER_ELECTION)]
    pub warm_standby: bool,

    /// How many objects each controller reconciles at once; one more if there are several, and those of one namespace hold
    /// up the others
    #[arg(long, value_name = "NUMBER", default_value_t = 10, help_heading = RECONCILING)]
    pub max_concurrent_reconciles: usize,

    /// How long one reconcile may take before it is cancelled and tried again
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration, help_heading = RECONCILING)]
    pub reconcile_timeout: Duration,

    /// Slow an object down whose reconciles write the same field again and again, although nothing but these writes has
    /// changed, or in turns with another writer
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, help_heading = RECONCILING)]
    pub storm_guard: bool,

    /// How long the leader may take to list the objects of each kind for the first time before it ends with an error;
    /// counted once it serves webhooks, which the API server may need to convert them
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration, help_heading = RECONCILING)]
    pub cache_sync_timeout: Duration,

    /// How long reconciles that are under way at SIGTERM may take to end
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration, help_heading = SHUTDOWN)]
    pub shutdown_timeout: Duration,

    /// How long webhooks are served on after SIGTERM, as the API server goes on to call them; 0s in development
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration, help_heading = SHUTDOWN)]
    pub shutdown_delay: Duration,

    /// Watch these namespaces only, separated by commas; all, if none is given
    #[arg(long, value_name = "NAMESPACE", env = "WATCH_NAMESPACE", value_delimiter = ',', help_heading = RECONCILING)]
    pub watch_namespace: Vec<String>,

    /// The kubeconfig file; the usual places, or the cluster that this runs in, if not given
    #[arg(long, value_name = "FILE", help_heading = API_SERVER)]
    pub kubeconfig: Option<PathBuf>,

    /// How log lines are written; text on a terminal and json otherwise, if not given
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = LOGS)]
    pub log_format: Option<LogFormat>,

    /// What is logged: a level, or one for each crate, such as `info,kube=debug`
    #[arg(long, value_name = "LEVEL", env = "RUST_LOG", default_value = "info", help_heading = LOGS)]
    pub log_level: String,
}

impl Default for Options {
    /// What the flags are when none is given.
    fn default() -> Self {
        Self {
            metrics_bind_address: Address::none(),
            metrics_secure: true,
            metrics_cert_path: None,
            metrics_cert_name: "tls.crt".to_owned(),
            metrics_cert_key: "tls.key".to_owned(),
            health_probe_bind_address: Address::at(":8081"),
            enable_webhooks: true,
            webhook_port: 9443,
            webhook_host: None,
            webhook_certificate: None,
            webhook_namespace: None,
            webhook_name: None,
            webhook_conversion: true,
            webhook_cert_path: None,
            webhook_cert_name: "tls.crt".to_owned(),
            webhook_cert_key: "tls.key".to_owned(),
            webhook_client_ca: None,
            enable_http2: false,
            leader_elect: false,
            leader_election_id: None,
            leader_election_namespace: None,
            leader_election_lease_duration: Duration::from_secs(15),
            leader_election_renew_deadline: Duration::from_secs(10),
            leader_election_retry_period: Duration::from_secs(2),
            warm_standby: false,
            max_concurrent_reconciles: 10,
            reconcile_timeout: Duration::from_secs(300),
            storm_guard: true,
            cache_sync_timeout: Duration::from_secs(120),
            shutdown_timeout: Duration::from_secs(30),
            shutdown_delay: Duration::from_secs(5),
            watch_namespace: Vec::new(),
            kubeconfig: None,
            log_format: None,
            log_level: "info".to_owned(),
        }
    }
}

impl Options {
    /// The namespaces to watch; none means all. An empty variable of the environment is none.
    pub(crate) fn namespaces(&self) -> Vec<String> {
        let mut namespaces: Vec<_> = self
            .watch_namespace
            .iter()
            .map(|namespace| namespace.trim().to_owned())
            .filter(|namespace| !namespace.is_empty())
            .collect();
        namespaces.sort();
        namespaces.dedup();
        namespaces
    }
}

#[cfg(test)]
mod tests;
