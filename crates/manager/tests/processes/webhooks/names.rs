//! Test replicas that are called by different names, like those of two versions of an operator during an update.

use std::time::Duration;

use anyhow::Context as _;
use hyper::Method;
use k8s_openapi::ByteString;
use kbr_testing::eventually;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use serde_json::{Value, json};
use tokio::{net::TcpStream, time::sleep};

use super::{
    guests::configuration,
    rotation::{certificate, rotated},
    site::{CRD, GUESTS, Guests, MUTATING, NAMESPACE, SECRET, Site, VALIDATING, converted, guest},
    spread::Spread,
    tests::{JSON, Load, refused},
};
use crate::{audit::Audit, replica::LONG, tls, world::World};

/// Enough concurrent tasks that the API server keeps opening new connections: it keeps 25.
const TASKS: usize = 40;

/// The old version has a defaulter, and the new one has a validator instead. Each is called by a name that the other
/// does not know. Both convert.
pub async fn replicas_that_are_called_by_different_names_share_one_certificate(
    world: &mut World,
) -> anyhow::Result<String> {
    let mut site = Site::new(world).await?;
    let (by_old, by_new) = (
        Spread::start("127.0.0.2").await?,
        Spread::start("127.0.0.3").await?,
    );
    site.call(Method::DELETE, VALIDATING, JSON, &Value::Null)
        .await?;
    let mutating = called(true, "127.0.0.2", by_old.port, "DoesNotExist")?;
    site.apply(MUTATING, &mutating).await?;
    let old = site.spawn_with(&["--without-validator"])?;
    old.ready().await?;
    by_old.set(vec![old.port]);
    site.replicas.push(old);
    site.route();
    let (path, object) = converted();
    eventually(LONG, "the old version is called", async || {
        let made = site.create(&path, &object).await?;
        let by = made["metadata"]["annotations"]["hotel.example.com/by"].as_str();
        Ok(by.map(|_| ()))
    })
    .await?;
    let mut loads = vec![Load::of(&site, TASKS, &path, &object)];
    loads[0].more(200).await?;
    loads.push(late(&site, site.replicas[0].port));
    let writes = Writes::new(&world.plane.audit);
    let new = site.spawn_with(&["--without-defaulter"])?;
    new.ready().await?;
    by_new.set(vec![new.port]);
    loads.push(late(&site, new.port));
    site.replicas.push(new);
    site.route();

    let validating = called(false, "127.0.0.3", by_new.port, "Exists")?;
    site.apply(VALIDATING, &validating).await?;
    let mut object = guest("new", &json!({ "first": "a" }));
    object["metadata"]["labels"] = json!({ "by": "new" });
    let path = format!("{GUESTS}?dryRun=All");
    // A replica that is not called yet rejects nothing.
    let mut nobody = object.clone();
    nobody["spec"]["first"] = json!("");
    let called = eventually(LONG, "the new version is called", async || {
        let status = refused(site.call(Method::POST, &path, JSON, &nobody)).await?;
        Ok((status["code"] == 422).then_some(()))
    });
    called.await.with_context(|| writes.tell())?;
    loads.push(Load::of(&site, TASKS, &path, &object));
    more(&loads).await?;
    let added = writes.check(1).context("a name was added")?;

    let mut rotations = Vec::new();
    for round in 0..world.either(3, 10) {
        let writes = Writes::new(&world.plane.audit);
        let served: Vec<_> = site.replicas.iter().map(Guests::served).collect();
        let mut deletions = 0;
        // Every other time, once more as soon as there is another one.
        while deletions < 1 + round % 2 {
            let before = certificate(&site).await?.context("a certificate")?;
            site.call(Method::DELETE, SECRET, JSON, &Value::Null)
                .await?;
            deletions += 1;
            if deletions <= round % 2 {
                eventually(LONG, "there is another one", async || {
                    Ok(certificate(&site).await?.filter(|now| *now != before))
                })
                .await?;
            } else {
                let rotated = rotated(&site, &before, &served).await;
                rotated.with_context(|| writes.tell())?;
            }
        }
        more(&loads).await?;
        // An empty one, by each of them; one for the names of one version, and one for all names.
        rotations.push(writes.check(4 * deletions)?);
    }
    let mut requests = 0;
    for load in loads {
        requests += load.end().await?;
    }
    Ok(format!(
        "a name was added by {added}; rotations: {}; {requests} requests, none failed",
        rotations.join(", ")
    ))
}

async fn more(loads: &[Load]) -> anyhow::Result<()> {
    for load in loads {
        load.more(20).await?;
    }
    Ok(())
}

/// A client that notices changes of a CA bundle a second late, as an API server may. For each call, it opens a new
/// connection to this replica, by the name for conversion.
fn late(site: &Site, port: u16) -> Load {
    let client = site.client.clone();
    Load::calling(8, move || {
        let client = client.clone();
        async move {
            let crd: Value = client
                .request(hyper::Request::get(CRD).body(Vec::new())?)
                .await?;
            let bundle = &crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"];
            let bundle: ByteString = serde_json::from_value(bundle.clone())?;
            let authorities = CertificateDer::pem_slice_iter(&bundle.0);
            let connector = tls::connector(authorities.collect::<Result<Vec<_>, _>>()?)?;
            sleep(Duration::from_secs(1)).await;
            let stream = TcpStream::connect(("127.0.0.1", port)).await?;
            connector
                .connect(ServerName::try_from("127.0.0.1")?, stream)
                .await?;
            Ok(())
        }
    })
}

/// A configuration that calls this name, for objects with or without a label.
fn called(mutating: bool, host: &str, port: u16, operator: &str) -> anyhow::Result<Value> {
    let text = configuration(mutating, port).to_string();
    let mut configuration: Value = serde_json::from_str(&text.replace("127.0.0.1", host))?;
    configuration["webhooks"][0]["objectSelector"] =
        json!({ "matchExpressions": [{ "key": "by", "operator": operator }] });
    Ok(configuration)
}

/// Counts the writes of the Secret.
struct Writes<'a> {
    audit: &'a Audit,
    mark: u64,
}

impl<'a> Writes<'a> {
    fn new(audit: &'a Audit) -> Self {
        Self {
            mark: audit.mark(),
            audit,
        }
    }

    /// How often it was written, and how many of these writes were rejected.
    fn count(&self) -> anyhow::Result<(usize, usize)> {
        let mut all = self.audit.since(self.mark, NAMESPACE)?;
        all.retain(|request| request.resource == "secrets" && request.writes());
        let written = all.iter().filter(|request| request.code < 300).count();
        Ok((written, all.len() - written))
    }

    fn tell(&self) -> String {
        match self.count() {
            Ok((written, refused)) => format!("{written} writes and {refused} refused"),
            Err(error) => error.to_string(),
        }
    }

    /// Fails if it was written more often than this.
    fn check(&self, most: usize) -> anyhow::Result<String> {
        let (written, _) = self.count()?;
        anyhow::ensure!(
            (1..=most).contains(&written),
            "{}, {most} at most",
            self.tell()
        );
        Ok(self.tell())
    }
}
