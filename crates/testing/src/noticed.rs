//! Makes the API server call an operator, and waits until it does. The API server accepts such a change at once,
//! applies it later, and does not report when. So each change contains a mark that shows in the server's answers.

use std::thread;

use hyper::{Request, header};
use kube::{Client, Config, core::Status};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::cluster::{LIMIT, eventually};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A webhook that no operator serves, for objects with a label of this name.
const PROBE: &str = "probe.testing.kbr-manager";
const LABEL: &str = "testing.kbr-manager/probe";

/// Runs `task` with its own client and waits for it. It runs in a thread, because the caller may be inside a runtime.
pub(super) fn block_on<R>(
    config: &Config,
    task: impl FnOnce(Client) -> R + Send,
) -> anyhow::Result<()>
where
    R: Future<Output = anyhow::Result<()>>,
{
    let run = || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async { task(Client::try_from(config.clone())?).await })
    };
    let ended = thread::scope(|scope| scope.spawn(run).join());
    ended.unwrap_or_else(|_| Err(anyhow::anyhow!("the thread that waits panicked")))
}

/// Makes the API server convert the versions of a CRD with this client config, and waits until it does.
///
/// # Errors
/// If it does not within the time limit, with the last answer.
pub(super) async fn convert(
    client: &Client,
    crd: &str,
    client_config: &Value,
) -> anyhow::Result<()> {
    let path = format!("{CRDS}/{crd}");
    let before: Value = client
        .request(Request::get(&path).body(Vec::new())?)
        .await?;
    let mark = format!("converted at {}", client_config["url"]);
    let steps = Value::Array(conversion(&before, client_config, &mark));
    let request = Request::patch(&path).header(header::CONTENT_TYPE, "application/json-patch+json");
    let request = request.body(steps.to_string().into_bytes())?;
    client.request::<Value>(request).await?;
    for path in served(&before) {
        let what = format!(
            "the API server converts `{crd}` at {}, asked for {path}",
            client_config["url"]
        );
        eventually(LIMIT, &what, async || {
            // The API server takes the columns of a table from the same copy of the CRD as its conversion.
            let table = Request::get(&path).header(
                header::ACCEPT,
                "application/json;as=Table;v=v1;g=meta.k8s.io",
            );
            let table = client.request_text(table.body(Vec::new())?).await?;
            Ok(table.contains(&json!(mark).to_string()).then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// A patch that sets this conversion in a CRD, and adds a column with the mark to each version.
fn conversion(crd: &Value, client_config: &Value, mark: &str) -> Vec<Value> {
    let webhook = json!({ "clientConfig": client_config, "conversionReviewVersions": ["v1"] });
    let conversion = json!({ "strategy": "Webhook", "webhook": webhook });
    let mut steps = vec![json!({ "op": "add", "path": "/spec/conversion", "value": conversion })];
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    for (at, version) in versions.enumerate() {
        let mut columns = version["additionalPrinterColumns"].clone();
        if columns.get(0).is_none() {
            // The default column of a version without columns.
            let age =
                json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" });
            columns = json!([age]);
        }
        columns[0]["description"] = mark.into();
        let path = format!("/spec/versions/{at}/additionalPrinterColumns");
        steps.push(json!({ "op": "add", "path": path, "value": columns }));
    }
    steps
}

/// The path of a list with one object, for each served version of a CRD.
fn served(crd: &Value) -> Vec<String> {
    let spec = &crd["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let versions = spec["versions"].as_array().into_iter().flatten();
    versions
        .filter(|version| version["served"] == true)
        .map(|version| format!("/apis/{group}/{}/{plural}?limit=1", text(&version["name"])))
        .collect()
}

/// A webhook for objects with this mark, which tells a configuration from others in its namespace. Nothing is served at
/// `client_config`.
pub(super) fn probe(mark: &str, client_config: &Value) -> Value {
    json!({
        "name": PROBE,
        "clientConfig": client_config,
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "objectSelector": { "matchLabels": { LABEL: mark } },
        // Objects that are valid without content, and of a kind for which few operators have webhooks.
        "rules": [{
            "apiGroups": ["coordination.k8s.io"], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": ["leases"],
        }],
    })
}

/// Waits until the webhooks of the configuration whose [`probe`] has this mark are called in `namespace`.
///
/// # Errors
/// If they are not called within the time limit, with the last answer.
pub(super) async fn called(client: &Client, namespace: &str, mark: &str) -> anyhow::Result<()> {
    let what = format!("the API server calls the webhooks of {mark}");
    eventually(LIMIT, &what, async || {
        Ok(calls(client, namespace, mark).await?.then_some(()))
    })
    .await
}

/// Waits until they are no longer called.
///
/// # Errors
/// If they are still called after the time limit, with the last answer.
pub(super) async fn no_longer_called(
    client: &Client,
    namespace: &str,
    mark: &str,
) -> anyhow::Result<()> {
    let what = format!("the API server no longer calls the webhooks of {mark}");
    eventually(LIMIT, &what, async || {
        Ok((!calls(client, namespace, mark).await?).then_some(()))
    })
    .await
}

/// Whether the API server calls the webhooks of the configuration whose [`probe`] has this mark.
async fn calls(client: &Client, namespace: &str, mark: &str) -> anyhow::Result<bool> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases?dryRun=All");
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "probe", "labels": { LABEL: mark } },
    });
    let request = Request::post(&path).header(header::CONTENT_TYPE, "application/json");
    let request = request.body(lease.to_string().into_bytes())?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(false),
        // The namespace of a test that has closed it: no object is created there any more.
        Err(kube::Error::Api(status)) if is_terminating(&status) => Ok(false),
        // The operator has answered that it does not serve the probe.
        Err(kube::Error::Api(status))
            if status.message.contains(PROBE)
                && status
                    .message
                    .contains("could not find the requested resource") =>
        {
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}

fn is_terminating(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut reasons = causes.map(|cause| cause.reason.as_str());
    status.code == 404 || reasons.any(|reason| reason == "NamespaceTerminating")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_of_a_crd_shows_the_mark_in_a_column() {
        let column = |description: &str| json!({ "name": "Ship", "description": description });
        let crd = json!({ "spec": {
            "group": "crew.example.com", "names": { "plural": "captains" }, "versions": [
                { "name": "v1", "served": true },
                { "name": "v2", "served": true, "additionalPrinterColumns": [column("a"), column("b")] },
                { "name": "v3", "served": false, "additionalPrinterColumns": [] },
            ],
        } });
        let steps = conversion(&crd, &json!({ "url": "https://a" }), "mark");
        assert_eq!(
            steps[0]["value"]["webhook"]["clientConfig"]["url"],
            "https://a"
        );
        assert_eq!(
            steps[1]["path"],
            "/spec/versions/0/additionalPrinterColumns"
        );
        assert_eq!(steps[1]["value"][0]["name"], "Age");
        assert_eq!(steps[2]["value"], json!([column("mark"), column("b")]));
        assert_eq!(steps[3]["value"][0]["description"], "mark");
        let paths =
            [1, 2].map(|version| format!("/apis/crew.example.com/v{version}/captains?limit=1"));
        assert_eq!(served(&crd), paths);
    }
}
