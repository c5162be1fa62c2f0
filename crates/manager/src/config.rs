//! Where the API server is, and whether a proxy leads there.

use std::{env, path::PathBuf};

use anyhow::Context as _;
use futures_util::future::BoxFuture;
use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::{
    Config,
    config::{Cluster, KubeConfigOptions, Kubeconfig},
};

use crate::options::Options;

/// Sets the provider of rustls explicitly, so that a dependency with another one cannot break it.
pub(crate) fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

impl Options {
    /// The configuration of the client that [`Manager::new`](crate::Manager::new) connects with: that of
    /// `--kubeconfig`, the usual kubeconfig, or the `ServiceAccount` of the Pod. Change it, and pass it to
    /// [`Manager::with_config`](crate::Manager::with_config).
    ///
    /// Outside a Pod, the way to the API server leads through the `proxy-url` of its kubeconfig, or else through the
    /// proxy of `HTTPS_PROXY`, unless `NO_PROXY` matches the API server or it is on this machine.
    ///
    /// # Errors
    /// If no API server is configured, or the kubeconfig cannot be used.
    pub async fn config(&self) -> anyhow::Result<Config> {
        // Boxed so that it is compiled with this crate, and not again with each operator.
        let config: BoxFuture<'_, _> = Box::pin(config(self));
        config.await
    }
}

async fn config(options: &Options) -> anyhow::Result<Config> {
    let Some(path) = &options.kubeconfig else {
        let help = "cannot find an API server\nhelp: pass `--kubeconfig FILE`, or set `KUBECONFIG`";
        return infer().await.context(help);
    };
    use_ring();
    let file = Kubeconfig::read_from(path);
    let file = file.with_context(|| format!("cannot read kubeconfig `{}`", path.display()))?;
    let config = Config::from_custom_kubeconfig(file.clone(), &KubeConfigOptions::default()).await;
    let mut config =
        config.with_context(|| format!("cannot use kubeconfig `{}`", path.display()))?;
    complete(&mut config, &file)?;
    Ok(config)
}

/// The configuration of the usual kubeconfig, or of the `ServiceAccount` of the Pod.
pub(crate) async fn infer() -> anyhow::Result<Config> {
    use_ring();
    let mut config = Config::infer().await?;
    if let Ok(file) = Kubeconfig::read() {
        complete(&mut config, &file)?;
    }
    Ok(config)
}

/// Adds what kube does not take from this file, if the configuration is from it.
///
/// The proxy: kube goes through that of the environment to each API server, those on this machine included, and compares
/// `NO_PROXY` with the address of the proxy. The file of the CA: kube reads it once, and in a Pod once a minute.
fn complete(config: &mut Config, file: &Kubeconfig) -> anyhow::Result<()> {
    let cluster = current(file).and_then(|cluster| Some((cluster, cluster.server.as_ref()?)));
    if let Some((cluster, server)) = cluster
        && server
            .parse()
            .is_ok_and(|server: Uri| server == config.cluster_url)
    {
        config.root_cert_file = ca_file(cluster);
        config.proxy_url = proxy(cluster.proxy_url.as_deref(), &config.cluster_url, |name| {
            env::var(name).ok()
        })?;
    }
    Ok(())
}

/// The file of the CA, unless the kubeconfig contains the CA itself.
fn ca_file(cluster: &Cluster) -> Option<PathBuf> {
    let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
    match given(&cluster.certificate_authority_data) {
        Some(_) => None,
        None => given(&cluster.certificate_authority).map(PathBuf::from),
    }
}

/// The cluster of the current context.
fn current(file: &Kubeconfig) -> Option<&Cluster> {
    let name = file.current_context.as_ref()?;
    let context = file.contexts.iter().find(|context| context.name == *name)?;
    let name = &context.context.as_ref()?.cluster;
    let cluster = file.clusters.iter().find(|cluster| cluster.name == *name)?;
    cluster.cluster.as_ref()
}

/// The proxy on the way to a server: the `named` one, or else that of the environment, by the rules of Go's
/// `http.ProxyFromEnvironment`, which client-go follows.
fn proxy(
    named: Option<&str>,
    server: &Uri,
    variable: impl Fn(&str) -> Option<String>,
) -> anyhow::Result<Option<Uri>> {
    let set = |name: &str| {
        let value = variable(name).or_else(|| variable(&name.to_lowercase()))?;
        (!value.is_empty()).then_some(value)
    };
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        return address(named)
            .with_context(|| format!("`proxy-url: {named}` of the kubeconfig is not a URL"))
            .map(Some);
    }
    let name = if server.scheme_str() == Some("http") {
        "HTTP_PROXY"
    } else {
        "HTTPS_PROXY"
    };
    let Some(proxy) = set(name).filter(|_| !is_here(server)) else {
        return Ok(None);
    };
    // Not the value: it may contain a password.
    let address = address(&proxy).with_context(|| format!("`{name}` is not the URL of a proxy"))?;
    let except = set("NO_PROXY").unwrap_or_default();
    // The matcher knows this one only for names.
    let everywhere = except.split(',').any(|entry| entry.trim() == "*");
    let matcher = Matcher::builder()
        .all(address.to_string())
        .no(except)
        .build();
    let leads = !everywhere && matcher.intercept(server).is_some();
    Ok(leads.then_some(address))
}

/// Whether a server is on this machine.
fn is_here(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse()
            .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

/// The URL of a proxy, which speaks HTTP unless it says otherwise.
fn address(proxy: &str) -> anyhow::Result<Uri> {
    if proxy.contains("://") {
        Ok(proxy.parse()?)
    } else {
        Ok(format!("http://{proxy}").parse()?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ENVIRONMENT: [(&str, &str); 2] = [
        ("HTTPS_PROXY", "http://user:password@proxy.corp:3128"),
        ("no_proxy", "10.0.0.0/8, .corp,"),
    ];

    /// The proxy on the way to `server`.
    fn to(server: &str, named: Option<&str>, environment: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let proxy = proxy(named, &server.parse().unwrap(), variable).unwrap();
        proxy.map(|proxy| proxy.to_string())
    }

    #[test]
    fn a_proxy_of_the_environment_leads_to_servers_elsewhere() {
        let proxy = "http://user:password@proxy.corp:3128/";
        for server in ["https://203.0.113.7:6443", "https://api.example.com"] {
            assert_eq!(to(server, None, &ENVIRONMENT).unwrap(), proxy, "{server}");
        }
        for server in [
            "https://127.0.0.1:6443",
            "https://[::1]:6443",
            "https://localhost:6443",
            "https://10.1.2.3",
            "https://api.corp",
            "http://api.example.com",
        ] {
            assert_eq!(to(server, None, &ENVIRONMENT), None, "{server}");
        }
    }

    #[test]
    fn no_proxy_with_an_asterisk_means_every_server() {
        let environment = [("https_proxy", "proxy:3128"), ("NO_PROXY", "*")];
        assert_eq!(to("https://203.0.113.7", None, &environment), None);
        let proxy = to("https://203.0.113.7", None, &environment[..1]);
        assert_eq!(proxy.unwrap(), "http://proxy:3128/");
    }

    #[test]
    fn the_proxy_of_a_kubeconfig_leads_to_each_server() {
        let named = Some("socks5://127.0.0.1:1080");
        let proxy = to("https://127.0.0.1:6443", named, &[("NO_PROXY", "*")]);
        assert_eq!(proxy.unwrap(), "socks5://127.0.0.1:1080/");
    }

    #[tokio::test]
    async fn the_file_of_the_ca_of_a_kubeconfig_is_read_again_unless_it_contains_the_ca() {
        let folder = tempfile::tempdir().unwrap();
        let ca = rcgen::generate_simple_self_signed(["ca".to_owned()])
            .unwrap()
            .cert
            .pem();
        let file = folder.path().join("ca.crt");
        std::fs::write(&file, &ca).unwrap();
        let data = k8s_openapi::ByteString(ca.into_bytes());
        let data = serde_json::to_value(data).unwrap();
        for (given, read_again) in [
            (json!({"certificate-authority": "ca.crt"}), Some(file)),
            (json!({"certificate-authority-data": data}), None),
            (
                json!({"certificate-authority": "ca.crt", "certificate-authority-data": data}),
                None,
            ),
        ] {
            let mut cluster = given;
            cluster["server"] = json!("https://203.0.113.7:6443");
            let kubeconfig = json!({
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "c", "user": {}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
            });
            let path = folder.path().join("config.json");
            std::fs::write(&path, kubeconfig.to_string()).unwrap();
            let options = Options {
                kubeconfig: Some(path),
                ..Options::default()
            };
            let config = options.config().await.unwrap();
            assert_eq!(config.root_cert_file, read_again, "{kubeconfig}");
        }
    }

    #[test]
    fn an_error_about_a_proxy_does_not_contain_its_password() {
        let variable =
            |name: &str| (name == "HTTPS_PROXY").then(|| "http://user:secret@ proxy".to_owned());
        let server = "https://203.0.113.7".parse().unwrap();
        let error = proxy(None, &server, variable).unwrap_err();
        assert!(format!("{error:#}").starts_with("`HTTPS_PROXY` is not the URL of a proxy"));
        assert!(!format!("{error:#}").contains("secret"));
    }
}
