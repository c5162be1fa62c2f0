//! One webhook marker with controller-gen's arguments -> one webhook.

use crd_lint::nearest;
use serde_json::{Map, Value, json};

use super::arguments::Arguments;
use super::entry::{Entry, Names};
use super::object;
use crate::markers::Marker;
use crate::problem::Problem;
use crate::rbac::{Set, known::unknown_resources};

const ARGUMENTS: [&str; 19] = [
    "admissionReviewVersions",
    "failurePolicy",
    "groups",
    "matchPolicy",
    "mutating",
    "name",
    "patch",
    "path",
    "reinvocationPolicy",
    "resources",
    "serviceName",
    "serviceNamespace",
    "servicePort",
    "sideEffects",
    "timeoutSeconds",
    "url",
    "verbs",
    "versions",
    "webhookVersions",
];

/// Reads a `webhook` marker; `own` holds the project's kinds, as group and plural.
///
/// # Errors
/// All problems of the marker.
pub fn webhook(
    names: &Names,
    marker: &Marker,
    own: &[(String, String)],
) -> Result<Entry, Vec<Problem>> {
    let mut arguments = Arguments::new(marker, &ARGUMENTS);
    let mutating = arguments.flag("mutating");
    let mut object = Map::new();
    arguments.identity(&mut object);
    arguments.policies(&mut object, mutating);
    let rule = arguments.rule();
    object.insert("rules".into(), json!([rule]));
    let (client, path) = arguments.client(names);
    object.insert("clientConfig".into(), client);

    let mut object = Value::Object(object);
    let mut unknown = Vec::new();
    if let Some(patch) = arguments.single("patch") {
        match object::patch(&mut object, &patch) {
            Ok(problems) => unknown = problems,
            Err(reason) => arguments.wrong(reason),
        }
    }
    if arguments.problems.is_empty() {
        arguments.problems = object::faults(&object, mutating);
        arguments.problems.extend(resources(&object, own));
    }
    arguments.problems.extend(unknown);
    let webhook = Entry {
        at: marker.at.clone(),
        mutating,
        path,
        object,
    };
    arguments.end(webhook)
}

/// Resources that no API has: the webhook would never be called for them.
fn resources(object: &Value, own: &[(String, String)]) -> Vec<Problem> {
    let rules = object["rules"].as_array().into_iter().flatten();
    let set = |list: &Value| -> Set {
        let texts = list.as_array().into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    rules
        .flat_map(|rule| unknown_resources(&set(&rule["apiGroups"]), &set(&rule["resources"]), own))
        .collect()
}

/// Reads a `webhookconfiguration` marker: whether it is for the mutating configuration, and the name if it has one.
///
/// # Errors
/// All problems of the marker.
pub fn configuration(marker: &Marker) -> Result<(bool, Option<String>), Vec<Problem>> {
    let mut arguments = Arguments::new(marker, &["mutating", "name"]);
    let mutating = arguments.flag("mutating");
    let name = arguments.single("name");
    if let Some(name) = name.as_deref().filter(|name| !object::is_subdomain(name)) {
        arguments.wrong(format!("`{name}` is not a valid configuration name"));
    }
    arguments.end((mutating, name))
}

impl Arguments<'_> {
    fn identity(&mut self, object: &mut Map<String, Value>) {
        let name = self.required("name");
        if !name.is_empty() && !object::is_qualified(&name) {
            self.problems.push(
                Problem::new(format!("`{name}` is not a valid webhook name")).help(
                    "use at least three labels separated by `.`, such as `mcaptain-v1.crew.example.com`",
                ),
            );
        }
        object.insert("name".into(), json!(name));
        let reviews = self.required_list("admissionReviewVersions");
        object.insert("admissionReviewVersions".into(), json!(reviews));
        for version in self.list("webhookVersions").unwrap_or_default() {
            if version != "v1" {
                self.wrong(format!(
                    "`{version}` is not a version of a webhook configuration: only `v1` exists"
                ));
            }
        }
    }

    fn policies(&mut self, object: &mut Map<String, Value>, mutating: bool) {
        let before = self.problems.len();
        let failure = self.choice("failurePolicy", &["Fail", "Ignore"]);
        if failure.is_none() && self.problems.len() == before {
            self.wrong("`failurePolicy` is missing: `fail` or `ignore`");
        }
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(name.to_owned(), value);
            }
        };
        set("failurePolicy", failure.map(Value::from));
        let policy = self.choice("matchPolicy", &["Exact", "Equivalent"]);
        set("matchPolicy", policy.map(Value::from));
        let effects = self.choice("sideEffects", &["None", "NoneOnDryRun", "Some", "Unknown"]);
        set("sideEffects", effects.map(Value::from));
        set(
            "timeoutSeconds",
            self.number("timeoutSeconds").map(Value::from),
        );
        match self.choice("reinvocationPolicy", &["Never", "IfNeeded"]) {
            Some(policy) if mutating => set("reinvocationPolicy", Some(policy.into())),
            // `Never` is the behaviour of every validating webhook; controller-gen accepts it, too.
            Some(policy) if policy == "IfNeeded" => {
                self.wrong("only mutating webhooks can have a `reinvocationPolicy`");
            }
            _ => {}
        }
    }

    fn rule(&mut self) -> Value {
        const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        let groups = self.required_list("groups").iter();
        // The core group is called `core` in markers, but its name in the API is the empty string.
        let groups: Vec<&str> = groups
            .map(|group| if group == "core" { "" } else { group })
            .collect();
        let versions = self.required_list("versions");
        let resources = self.required_list("resources");
        let verbs: Vec<String> = self
            .required_list("verbs")
            .iter()
            .map(|verb| verb.to_uppercase())
            .collect();
        for verb in verbs
            .iter()
            .filter(|verb| !OPERATIONS.contains(&verb.as_str()))
        {
            let near = nearest(verb, OPERATIONS.into_iter().skip(1)).map(str::to_lowercase);
            let text = format!("`{}` is not a webhook verb", verb.to_lowercase());
            let problem = Problem::new(text);
            self.problems.push(match near {
                Some(near) => problem.did_you_mean(Some(&near)),
                None => problem.help("`create`, `update`, `delete`, `connect` or `*`"),
            });
        }
        json!({ "apiGroups": groups, "apiVersions": versions, "operations": verbs, "resources": resources })
    }

    /// The client config of the webhook, and the path if this operator serves it.
    fn client(&mut self, names: &Names) -> (Value, Option<String>) {
        let path = self.single("path");
        let url = self.single("url");
        let service = self.single("serviceName");
        let namespace = self.single("serviceNamespace");
        let port = self.number("servicePort");
        let (Some(path), None) = (path, &url) else {
            match url {
                Some(_) if self.list("path").is_some() => {
                    self.wrong("a webhook cannot have both a `path` and a `url`");
                }
                None => self.wrong("`path` is missing: a webhook needs a `path` or a `url`"),
                Some(_) if service.is_some() || namespace.is_some() || port.is_some() => {
                    self.wrong("a webhook with a `url` cannot have a service");
                }
                Some(_) => {}
            }
            return (json!({ "url": url }), None);
        };
        let ours = service.is_none() && namespace.is_none();
        let mut service = json!({
            "name": service.unwrap_or_else(|| names.service.clone()),
            "namespace": namespace.unwrap_or_else(|| names.namespace.clone()),
            "path": path,
        });
        if let Some(port) = port {
            service["port"] = json!(port);
        }
        (json!({ "service": service }), ours.then_some(path))
    }
}
