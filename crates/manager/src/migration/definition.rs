//! The CRD of a kind: the versions that its objects may be stored in, and the progress of the migration.

use anyhow::Context as _;
use k8s_openapi::jiff::Timestamp;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

/// The progress of a migration. It is the message of a condition in the CRD's status: there a later process finds it,
/// users see it, an apply of the CRD leaves it alone, and no permission to change the CRD itself is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// The objects that were last written at this resource version or before it are to be rewritten.
    pub(super) up_to: String,
    /// Where to continue the list of objects; all before it are done.
    pub(super) token: Option<String>,
}

impl Progress {
    fn message(&self, version: &str) -> String {
        let token = self.token.as_ref();
        let token = token.map(|token| format!("; done before the continue token {token}"));
        format!(
            "objects up to resource version {} are being rewritten in {version}{}",
            self.up_to,
            token.unwrap_or_default()
        )
    }

    fn parse(message: &str) -> Option<Self> {
        let after = |word: &str| {
            let mut words = message.split(' ').skip_while(|found| *found != word);
            words.nth(1).map(str::to_owned)
        };
        Some(Self {
            up_to: after("version")?,
            token: after("token"),
        })
    }
}

/// What a CRD said when it was read.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    /// Counts the changes of the spec.
    pub(super) generation: i64,
    /// The version that objects are stored in when they are written.
    pub(super) version: String,
    /// Other versions that objects may still be stored in.
    pub(super) old: Vec<String>,
    /// The progress of a migration to this spec.
    pub(super) progress: Option<Progress>,
    resource_version: Option<String>,
    conditions: Vec<Value>,
}

/// Reads and changes one CRD.
pub(super) struct Definitions {
    api: Api<DynamicObject>,
    name: String,
    /// The type of the condition, and the field manager.
    condition: String,
}

impl Definitions {
    /// The CRD called `name`. `id` is that of the operator.
    pub(super) fn new(client: Client, name: &str, id: &str) -> Self {
        let resource = ApiResource {
            group: "apiextensions.k8s.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "apiextensions.k8s.io/v1".to_owned(),
            kind: "CustomResourceDefinition".to_owned(),
            plural: "customresourcedefinitions".to_owned(),
        };
        Self {
            api: Api::all_with(client, &resource),
            name: name.to_owned(),
            condition: format!("{id}/storage-migration"),
        }
    }

    /// The CRD as it is now.
    pub(super) async fn read(&self) -> anyhow::Result<Definition> {
        let read = self.api.get(&self.name).await;
        let crd = read.with_context(|| format!("cannot read the CRD `{}`", self.name))?;
        let definition = definition(&crd, &self.condition);
        definition.with_context(|| format!("the CRD `{}` stores no version", self.name))
    }

    /// Records the progress. Returns `false`, and changes nothing, if the CRD has changed since `seen` was read.
    pub(super) async fn remember(
        &self,
        seen: &Definition,
        progress: &Progress,
    ) -> anyhow::Result<bool> {
        let message = progress.message(&seen.version);
        let conditions = self.conditions(seen, "True", "Rewriting", &message);
        self.patch(seen, json!({ "conditions": conditions })).await
    }

    /// Records that all objects are stored in the current version. Returns `false`, and changes nothing, if the CRD has
    /// changed since `seen` was read.
    pub(super) async fn finish(&self, seen: &Definition) -> anyhow::Result<bool> {
        let message = format!("all objects are stored in {}", seen.version);
        let conditions = self.conditions(seen, "False", "Succeeded", &message);
        let status = json!({ "conditions": conditions, "storedVersions": [seen.version] });
        self.patch(seen, status).await
    }

    async fn patch(&self, seen: &Definition, status: Value) -> anyhow::Result<bool> {
        let metadata = json!({ "resourceVersion": seen.resource_version });
        let patch = Patch::Merge(json!({ "metadata": metadata, "status": status }));
        let params = PatchParams {
            field_manager: Some(self.condition.clone()),
            ..PatchParams::default()
        };
        match self.api.patch_status(&self.name, &params, &patch).await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(error)) if error.code == 409 => Ok(false),
            Err(error) => {
                let what = format!("cannot change the status of the CRD `{}`", self.name);
                Err(error).context(what)
            }
        }
    }

    /// All conditions of `seen`, with this one for our own.
    fn conditions(
        &self,
        seen: &Definition,
        status: &str,
        reason: &str,
        message: &str,
    ) -> Vec<Value> {
        let ours = |condition: &&Value| condition["type"] == self.condition.as_str();
        let before = seen.conditions.iter().find(ours);
        let before = before.filter(|before| before["status"] == status);
        let since = before.map(|before| before["lastTransitionTime"].clone());
        let now = || json!(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        let condition = json!({
            "type": self.condition, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": since.unwrap_or_else(now),
            "observedGeneration": seen.generation,
        });
        let others = seen.conditions.iter().filter(|it| !ours(it)).cloned();
        others.chain([condition]).collect()
    }
}

/// Reads the relevant fields of a CRD; `None` if it has no storage version.
fn definition(crd: &DynamicObject, condition: &str) -> Option<Definition> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let versions = list(&crd.data["spec"]["versions"]);
    let mut current = versions.iter().filter(|it| it["storage"] == true);
    let version = current.next()?["name"].as_str()?.to_owned();
    let generation = crd.metadata.generation.unwrap_or_default();
    let stored = list(&crd.data["status"]["storedVersions"]);
    let stored = stored.iter().filter_map(Value::as_str).map(str::to_owned);
    let conditions = list(&crd.data["status"]["conditions"]);
    let progress = conditions.iter().find(|it| {
        it["type"] == condition && it["status"] == "True" && it["observedGeneration"] == generation
    });
    Some(Definition {
        generation,
        old: stored.filter(|stored| *stored != version).collect(),
        version,
        progress: progress.and_then(|it| Progress::parse(it["message"].as_str()?)),
        resource_version: crd.metadata.resource_version.clone(),
        conditions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(token: Option<&str>) -> Progress {
        Progress {
            up_to: "12345".to_owned(),
            token: token.map(str::to_owned),
        }
    }

    #[test]
    fn progress_is_read_as_it_was_written() {
        for token in [None, Some("eyJ2IjoibWV0YSJ9==")] {
            let progress = progress(token);
            let message = progress.message("v2");
            assert_eq!(Progress::parse(&message), Some(progress), "{message}");
        }
        assert_eq!(Progress::parse("all objects are stored in v2"), None);
        assert_eq!(
            progress(None).message("v2"),
            "objects up to resource version 12345 are being rewritten in v2"
        );
    }

    #[test]
    fn progress_counts_only_for_the_spec_that_it_was_made_for() {
        let crd = |generation: i64, status: &str| -> DynamicObject {
            let message = progress(None).message("v2");
            serde_json::from_value(json!({
                "metadata": {"name": "a", "generation": 3},
                "spec": {"versions": [{"name": "v1", "storage": false}, {"name": "v2", "storage": true}]},
                "status": {"storedVersions": ["v1", "v2"], "conditions": [{
                    "type": "x", "status": status, "observedGeneration": generation, "message": message,
                }]},
            }))
            .unwrap()
        };
        let read = |generation, status| definition(&crd(generation, status), "x").unwrap();
        assert_eq!(read(3, "True").progress, Some(progress(None)));
        assert_eq!(read(2, "True").progress, None);
        assert_eq!(read(3, "False").progress, None);
        assert_eq!(definition(&crd(3, "True"), "y").unwrap().progress, None);
        let read = read(3, "True");
        assert_eq!((read.version, read.old), ("v2".into(), vec!["v1".into()]));
    }
}
