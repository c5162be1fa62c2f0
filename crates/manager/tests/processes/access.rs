//! Test who may read the metrics and call the author's HTTP handlers, with the API server's access reviews.

use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::{
    api::{
        authentication::v1::{TokenRequest, TokenRequestSpec},
        core::v1::ServiceAccount,
        rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kbr_testing::eventually;
use kube::{Api, Client, api::PostParams};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::{
    author,
    proxy::Mode,
    replica::{LONG, Replica, Setup},
    tls,
    world::World,
};

pub async fn metrics_are_served_only_to_authorized_tokens(
    world: &mut World,
) -> anyhow::Result<String> {
    let namespace = world.namespace().await?;
    let (scraper, stranger) = tokens(&world.plane.client, &namespace).await?;
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let folder = world.plane.folder.join(&namespace);
    std::fs::create_dir(&folder)?;
    std::fs::write(folder.join("tls.crt"), certificate.cert.pem())?;
    std::fs::write(
        folder.join("tls.key"),
        certificate.signing_key.serialize_pem(),
    )?;

    let path = format!("--metrics-cert-path={}", folder.display());
    let flags = ["--metrics-secure", path.as_str(), "--log-level=debug"];
    let mut setup = Setup::new(&namespace, &flags);
    let spans = folder.join("spans").display().to_string();
    setup.environment = vec![(author::SPANS.to_owned(), spans)];
    let replica = Replica::start(&world.plane, "a", &setup).await?;
    let port = eventually(LONG, "it serves metrics", async || {
        Ok(replica.port("serving metrics").ok())
    });
    let server = Https {
        port: port.await?,
        connector: tls::connector([certificate.cert.der().clone()])?,
    };
    // The permission takes effect once the API server has seen its binding.
    eventually(LONG, "the right is there", async || {
        Ok((server.get("/metrics", Some(&scraper)).await?.0 == 200).then_some(()))
    })
    .await?;
    let table = [
        (None, 401),
        (Some("made-up"), 401),
        (Some(stranger.as_str()), 403),
        (Some(scraper.as_str()), 200),
    ];
    let maps = format!("0 maps for system:serviceaccount:{namespace}:scraper");
    for (path, content) in [("/metrics", "workqueue"), (author::MAPS, maps.as_str())] {
        for (token, wanted) in table {
            let (status, body) = server.get(path, token).await?;
            anyhow::ensure!(status == wanted, "{path}: {status} instead of {wanted}");
            anyhow::ensure!(body.contains(content) == (status == 200), "{path}: {body}");
        }
    }
    let (status, _) = server.request("POST", author::MAPS, Some(&scraper)).await?;
    anyhow::ensure!(status == 403, "{status} instead of 403: not its verb");
    let asked = replica.proxy.connections();

    replica.proxy.set(Mode::Refuse);
    for (token, wanted) in [("made-up-too", 500), (scraper.as_str(), 200)] {
        let (status, body) = server.get("/metrics", Some(token)).await?;
        anyhow::ensure!(
            status == wanted,
            "{status} instead of {wanted}: API server away"
        );
        anyhow::ensure!(
            status == 200 || !body.contains("workqueue"),
            "it leaks: {body}"
        );
    }
    replica.proxy.set(Mode::Pass);
    let (status, _) = server.get("/metrics", Some("made-up-too")).await?;
    anyhow::ensure!(
        status == 401,
        "{status} instead of 401: the API server is back"
    );

    let log = replica.log();
    for token in [&scraper, &stranger, "made-up"] {
        anyhow::ensure!(!log.contains(token), "a token is in the log");
    }
    Ok(format!(
        "401, 401, 403, 200; API server away: 500, and 200 for who was known; {asked} connections"
    ))
}

/// Tokens of a service account that may read metrics, and of one that may not.
async fn tokens(client: &Client, namespace: &str) -> anyhow::Result<(String, String)> {
    let name = format!("{namespace}-metrics-reader");
    let meta = |name: &str| ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let role = ClusterRole {
        metadata: meta(&name),
        rules: Some(vec![PolicyRule {
            non_resource_urls: Some(vec!["/metrics".to_owned(), author::MAPS.to_owned()]),
            verbs: vec!["get".to_owned()],
            ..PolicyRule::default()
        }]),
        ..ClusterRole::default()
    };
    let binding = ClusterRoleBinding {
        metadata: meta(&name),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "ClusterRole".to_owned(),
            name,
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: "scraper".to_owned(),
            namespace: Some(namespace.to_owned()),
            ..Subject::default()
        }]),
    };
    let create = PostParams::default();
    Api::all(client.clone()).create(&create, &role).await?;
    Api::all(client.clone()).create(&create, &binding).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let mut tokens = Vec::new();
    for name in ["scraper", "stranger"] {
        let account = ServiceAccount {
            metadata: meta(name),
            ..ServiceAccount::default()
        };
        accounts.create(&create, &account).await?;
        let request = TokenRequest {
            spec: Some(TokenRequestSpec::default()),
            ..TokenRequest::default()
        };
        let made = accounts.create_token_request(name, &create, &request);
        let status = made.await?.status;
        tokens.push(status.and_then(|status| status.token).context("a token")?);
    }
    let [scraper, stranger] = tokens.try_into().expect("two of them");
    Ok((scraper, stranger))
}

struct Https {
    port: u16,
    connector: TlsConnector,
}

impl Https {
    /// The status and body that a scraper with this token receives.
    async fn get(&self, path: &str, token: Option<&str>) -> anyhow::Result<(u16, String)> {
        self.request("GET", path, token).await
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
    ) -> anyhow::Result<(u16, String)> {
        let head = format!("{method} {path}");
        tokio::time::timeout(Duration::from_secs(60), self.exchange(&head, token)).await?
    }

    async fn exchange(&self, head: &str, token: Option<&str>) -> anyhow::Result<(u16, String)> {
        let tcp = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let name = ServerName::try_from("localhost")?;
        let stream = self.connector.connect(name, tcp).await?;
        let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n"));
        let authorization = authorization.unwrap_or_default();
        tls::exchange(stream, &format!("{head} HTTP/1.1\r\n{authorization}"), b"").await
    }
}
