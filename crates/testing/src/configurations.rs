//! The webhook configurations of one test, which all its operators serve.

use std::process::{Command, Stdio};

use kube::Config;
use serde_json::Value;

use super::{
    Cluster,
    noticed::{block_on, called, no_longer_called, probe},
    operators::Operators,
};

/// An operator that serves the configurations. When the last one of a test is dropped, the API server no longer calls them.
#[derive(Debug)]
pub(super) struct Served {
    operators: Operators,
    config: Config,
    namespace: String,
}

/// Makes the API server call the webhooks of `objects`, limited to the namespace of the test, and waits until it does.
/// `client_config` returns where a path is served.
pub(super) fn serve(
    cluster: &Cluster,
    objects: Vec<Value>,
    client_config: impl Fn(&str) -> Value,
) -> anyhow::Result<Served> {
    cluster.operators.called().operators += 1;
    let operator = Served {
        operators: cluster.operators.clone(),
        config: cluster.config.clone(),
        namespace: cluster.namespace().to_owned(),
    };
    // In case of an error, this is dropped before `operator`.
    let mut all = cluster.operators.called();
    if all.configurations.is_empty() {
        for mut object in objects {
            adapt(&mut object, cluster.namespace(), &client_config);
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let name = (text(&object["kind"]), text(&object["metadata"]["name"]));
            cluster.kubectl_with(&["create", "--filename", "-"], &object.to_string())?;
            all.configurations.push(name);
        }
    }
    block_on(&cluster.config, async |client| {
        for (kind, _) in &all.configurations {
            called(&client, cluster.namespace(), kind).await?;
        }
        Ok(())
    })?;
    drop(all);
    Ok(operator)
}

impl Drop for Served {
    fn drop(&mut self) {
        let mut all = self.operators.called();
        all.operators -= 1;
        if all.operators > 0 {
            return;
        }
        let configurations = all.configurations.drain(..);
        // One that stays is limited to a namespace that is not used again.
        let deleted: Vec<_> = configurations
            .filter(|(kind, name)| delete(kind, name))
            .collect();
        // No caller is left to handle an error.
        let _ = block_on(&self.config, async |client| {
            for (kind, _) in &deleted {
                no_longer_called(&client, &self.namespace, kind).await?;
            }
            Ok(())
        });
    }
}

/// Gives a configuration a unique name, limits it to the namespace of a test, and adds a probe whose mark is its kind.
fn adapt(object: &mut Value, namespace: &str, client_config: impl Fn(&str) -> Value) {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    object["metadata"]["name"] = format!("{name}-{namespace}").into();
    let kind = object["kind"].as_str().unwrap_or_default();
    let probe = probe(kind, &client_config("/probe"));
    let Some(webhooks) = object["webhooks"].as_array_mut() else {
        return;
    };
    for webhook in &mut *webhooks {
        let path = webhook["clientConfig"]["service"]["path"].as_str();
        webhook["clientConfig"] = client_config(path.unwrap_or_default());
    }
    webhooks.push(probe);
    for webhook in webhooks {
        webhook["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] =
            namespace.into();
    }
}

/// Deletes a configuration, in drop, where no caller is left to handle an error; returns whether that succeeded.
fn delete(kind: &str, name: &str) -> bool {
    let status = Command::new("kubectl")
        .args(["delete", "--ignore-not-found", "--wait=false", kind, name])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
