//! Who owns which fields of an object: what the operator owns comes back, and what it does not own is left alone.

use serde_json::{Value, json};

use super::{
    environment::Environment, explore, external, history::Broken, plan::What, trace::Happened,
    who::Who,
};
use crate::server::{Objects, Path};

/// The number of replicas.
pub(super) const REPLICAS: &str = "/spec/replicas";

/// How many fields of a child are changed by hand.
const MOST: usize = 3;

/// The label that someone adds.
const LABEL: &str = "simulate.kbr-testing/by-hand";

impl Environment {
    /// What others do to a child, at rest.
    pub(super) async fn change_by_hand(&mut self) -> Result<(), Broken> {
        let plan = self.plan.clone();
        for what in plan.at(0) {
            match what {
                What::ChildDeleted(url) => self.delete_by_hand(url).await?,
                What::Expired(url) => {
                    self.delete_by_hand(url).await?;
                    self.history.has_expired = true;
                }
                What::ChildEdited(field) => self.edit_by_hand(field).await?,
                What::ChildLabeled(url) => {
                    let label = LABEL.replace('/', "~1");
                    let pointer = format!("/metadata/labels/{label}");
                    self.own(url, &pointer, "someone labels", |_| json!("true"))
                        .await?;
                }
                What::ChildScaled(url) => {
                    let more = |now: &Value| json!(now.as_i64().unwrap_or(1) + 1);
                    self.own(url, REPLICAS, "an autoscaler scales", more)
                        .await?;
                }
                What::Drift(number) => {
                    let drifts = &self.history.drifts;
                    let Some(what) = number.checked_sub(1).and_then(|at| drifts.get(at)) else {
                        continue;
                    };
                    self.network
                        .tell(Happened::Fault(Who::Others, format!("someone {what}")));
                    external::drift(*number);
                    self.reconcile_again(false);
                    self.rest_again().await?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    async fn delete_by_hand(&mut self, url: &str) -> Result<(), Broken> {
        let Some(path) = Path::parse(url) else {
            return Ok(());
        };
        let what = format!("someone deletes {path} by hand");
        self.network.tell(Happened::Fault(Who::Others, what));
        self.api.change(|objects| objects.delete_now(&path));
        self.rest_again().await
    }

    /// Changes what the operator owns.
    async fn edit_by_hand(&mut self, field: &str) -> Result<(), Broken> {
        let (url, pointer) = field.split_once('#').unwrap_or((field, ""));
        let Some(path) = Path::parse(url) else {
            return Ok(());
        };
        let found = self.api.change_quietly(|objects| {
            let object = objects.get(&path)?;
            let new = other_value(objects, &path, object, pointer)?;
            Some((object.clone(), new))
        });
        let Some((mut object, new)) = found else {
            return Ok(());
        };
        let field = shown(pointer);
        let what = format!("someone sets {field} of {path} to {new} by hand");
        self.network.tell(Happened::Fault(Who::Others, what));
        set(&mut object, pointer, Some(new));
        object["metadata"]["generation"] = Value::Null;
        self.api.change(|objects| objects.put(&path, object));
        self.rest_again().await
    }

    /// Someone else owns a field of a child for a while.
    async fn own(
        &mut self,
        url: &str,
        pointer: &str,
        who: &str,
        value: impl Fn(&Value) -> Value,
    ) -> Result<(), Broken> {
        let Some((path, object)) =
            Path::parse(url).and_then(|path| Some((path.clone(), self.stored(&path)?)))
        else {
            return Ok(());
        };
        let before = object.pointer(pointer).cloned();
        let new = value(before.as_ref().unwrap_or(&Value::Null));
        self.network
            .tell(Happened::Fault(Who::Others, format!("{who} {path}")));
        self.put_field(&path, object, pointer, Some(new.clone()));
        self.idle().await?;
        self.reconcile_again(false);
        self.idle().await?;
        let Some(object) = self.stored(&path) else {
            return self.rest_again().await;
        };
        let found = object.pointer(pointer).cloned();
        if found.as_ref() != Some(&new) {
            let found = found.map_or_else(|| "nothing".to_owned(), |it| it.to_string());
            let field = shown(pointer);
            let what = format!("{path} {field}: someone else has set {new}, found {found}");
            self.history.taken.push(what);
            return Ok(());
        }
        let what = format!("{who} {path} back");
        self.network.tell(Happened::Fault(Who::Others, what));
        self.put_field(&path, object, pointer, before);
        self.rest_again().await
    }

    fn stored(&self, path: &Path) -> Option<Value> {
        self.api
            .change_quietly(|objects| objects.get(path).cloned())
    }

    fn put_field(&self, path: &Path, mut object: Value, pointer: &str, value: Option<Value>) {
        set(&mut object, pointer, value);
        object["metadata"]["generation"] = Value::Null;
        self.api.change(|objects| objects.put(path, object));
    }
}

/// `spec.replicas`.
fn shown(pointer: &str) -> String {
    let field = pointer.trim_start_matches('/').replace('/', ".");
    field.replace("~1", "/").replace("~0", "~")
}

/// Sets or removes a field, and makes the objects that it is in.
fn set(object: &mut Value, pointer: &str, value: Option<Value>) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        return;
    };
    let name = name.replace("~1", "/").replace("~0", "~");
    let mut to = object;
    for part in parent.split('/').skip(1) {
        let next = match part.parse::<usize>() {
            Ok(at) if to.is_array() => to.get_mut(at),
            _ => Some(&mut to[part]),
        };
        let Some(next) = next else { return };
        to = next;
    }
    match (to, value) {
        (Value::Object(fields), Some(value)) => drop(fields.insert(name, value)),
        (Value::Object(fields), None) => drop(fields.remove(&name)),
        (to @ Value::Null, Some(value)) => *to = json!({ name: value }),
        _ => {}
    }
}

/// Of the fields that the operator owns, those that everyone may change: neither a name nor what the API server keeps as it is.
pub(super) fn changeable(kind: &str, object: &Value, owned: &[String]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let group = text(&object["apiVersion"]);
    let is_custom = group.contains('.') && !group.contains(".k8s.io/");
    let is_changeable = |pointer: &&String| match kind {
        "configmaps" | "secrets" => pointer.starts_with("/data/"),
        "daemonsets.apps" | "deployments.apps" | "replicasets.apps" | "statefulsets.apps" => {
            *pointer == REPLICAS || pointer.ends_with("/image")
        }
        "services" => pointer.starts_with("/spec/selector/"),
        _ => is_custom && pointer.starts_with("/spec/"),
    };
    let is_value = |pointer: &&String| {
        let value = object.pointer(pointer);
        value.is_some_and(|it| it.is_boolean() || it.is_number() || it.is_string())
    };
    let found = owned.iter().filter(is_changeable).filter(is_value);
    found.take(MOST).cloned().collect()
}

/// Another value of a field, which the schema of the object accepts.
fn other_value(objects: &Objects, path: &Path, object: &Value, pointer: &str) -> Option<Value> {
    let now = object.pointer(pointer)?;
    let new = match now {
        Value::Bool(it) => json!(!it),
        Value::Number(it) => json!(it.as_i64()? + 1),
        // `by-hand` in base64.
        Value::String(_) if object["kind"] == "Secret" => json!("YnktaGFuZA=="),
        Value::String(it) => json!(format!("{it}-by-hand")),
        _ => return None,
    };
    let Some((schema, rules)) = objects.schema(path) else {
        return Some(new);
    };
    explore::accepted(object, &schema, &rules, pointer, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_set_where_nothing_was_and_in_a_list() {
        let mut object = json!({"spec": {"list": [{"image": "a"}]}});
        set(&mut object, "/spec/list/0/image", Some(json!("b")));
        set(&mut object, "/metadata/labels/a~1b", Some(json!("c")));
        let expected = json!({
            "spec": {"list": [{"image": "b"}]}, "metadata": {"labels": {"a/b": "c"}},
        });
        assert_eq!(object, expected);
        set(&mut object, "/metadata/labels/a~1b", None);
        assert_eq!(object["metadata"], json!({"labels": {}}));
    }

    #[test]
    fn what_the_api_server_keeps_is_not_changed_by_hand() {
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {
            "replicas": 1, "selector": {"matchLabels": {"a": "b"}},
            "template": {"spec": {"containers": [{"name": "a", "image": "b"}]}},
        }});
        let owned = [
            "/spec/replicas",
            "/spec/selector",
            "/spec/template/spec/containers/0/image",
            "/spec/template/spec/containers/0/name",
        ];
        let owned = owned.map(str::to_owned);
        let found = changeable("deployments.apps", &deployment, &owned);
        assert_eq!(
            found,
            ["/spec/replicas", "/spec/template/spec/containers/0/image"]
        );
    }
}
