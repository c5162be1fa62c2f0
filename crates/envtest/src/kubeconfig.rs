//! The kubeconfigs of a control plane. They are JSON, which is valid YAML and needs no quoting of paths.

use serde_json::{Value, json};

use super::setup::Setup;

/// The administrator's kubeconfig.
pub fn admin(setup: &Setup) -> String {
    config(setup).to_string()
}

/// The kubeconfig of a service account, with its namespace as the default. The administrator impersonates it: the API server
/// adds its groups, and nothing expires.
pub fn service_account(setup: &Setup, namespace: &str, account: &str) -> String {
    let mut config = config(setup);
    let user = format!("system:serviceaccount:{namespace}:{account}");
    config["users"][0]["user"]["as"] = json!(user);
    config["contexts"][0]["context"]["namespace"] = json!(namespace);
    config.to_string()
}

/// The kubeconfig of a program that has only a token, with its namespace as the default.
pub fn token(setup: &Setup, namespace: &str, token: &str) -> String {
    let mut config = config(setup);
    config["users"][0]["user"] = json!({ "token": token });
    config["contexts"][0]["context"]["namespace"] = json!(namespace);
    config.to_string()
}

fn config(setup: &Setup) -> Value {
    let context = &setup.context;
    let file = |name: &str| setup.folder.join(name).display().to_string();
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [{ "name": context, "cluster": {
            "server": setup.server(),
            "certificate-authority": file("ca.crt"),
        } }],
        "users": [{ "name": context, "user": {
            "client-certificate": file("admin.crt"),
            "client-key": file("admin.key"),
        } }],
        "contexts": [{ "name": context, "context": { "cluster": context, "user": context } }],
    })
}
