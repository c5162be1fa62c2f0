//! Writes of a test, which is the user of the cluster.

use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    api::{ApiServer, path},
    gate::Decided,
    server::Path,
};

impl ApiServer {
    /// Stores an object as it is, including its status, and replaces one of the same name. A namespaced object without
    /// a namespace goes to `default`. Sets the fields that the API server sets: uid, generation, resource version and
    /// so on.
    ///
    /// # Panics
    /// If it has no name, cannot be written as JSON, or its kind was [uninstalled](Self::uninstall).
    pub fn put<K>(&self, object: &K)
    where
        K: Resource<DynamicType = ()> + Serialize,
        K::Scope: 'static,
    {
        let meta = object.meta();
        let name = meta
            .name
            .as_deref()
            .expect("an object that is stored has a name");
        let namespace = meta.namespace.as_deref().unwrap_or("default");
        let mut value = serde_json::to_value(object).expect("an object can be written as JSON");
        value["apiVersion"] = json!(K::api_version(&()));
        value["kind"] = json!(K::kind(&()));
        let path = path::<K>(namespace, name);
        let is_served = self.change_quietly(|objects| objects.serves(&path));
        assert!(is_served, "{} is not installed", K::kind(&()));
        self.write(&path, value);
    }

    /// Changes an object, like `kubectl edit`. Only the fields that `change` changes are written, also those of the
    /// status.
    ///
    /// # Panics
    /// If the object does not exist, or cannot be written as JSON.
    pub fn edit<K>(&self, namespace: &str, name: &str, change: impl FnOnce(&mut K))
    where
        K: Resource<DynamicType = ()> + Serialize + DeserializeOwned,
        K::Scope: 'static,
    {
        let found = self.get::<K>(namespace, name);
        let mut object = found.expect("an object that is edited exists");
        let json = |object: &K| serde_json::to_value(object).expect("an object as JSON");
        let before = json(&object);
        change(&mut object);
        let (after, path) = (json(&object), path::<K>(namespace, name));
        let mut stored = self.stored(&path).unwrap_or_default();
        carry_over(&before, after, &mut stored);
        // The server counts.
        stored["metadata"]["generation"] = Value::Null;
        self.write(&path, stored);
    }

    /// Deletes an object, like `kubectl delete`: with finalizers it stays, marked as deleted. Its dependents are
    /// deleted too.
    pub fn delete<K>(&self, namespace: &str, name: &str)
    where
        K: Resource<DynamicType = ()>,
        K::Scope: 'static,
    {
        self.remove(&path::<K>(namespace, name));
    }
}

/// Makes the changes from `before` to `after` in `to`.
fn carry_over(before: &Value, after: Value, to: &mut Value) {
    match (before, after, to) {
        (Value::Object(before), Value::Object(after), Value::Object(to)) => {
            to.retain(|field, _| after.contains_key(field) || !before.contains_key(field));
            for (field, value) in after {
                match before.get(&field) {
                    Some(old) if *old == value => {}
                    Some(old) => carry_over(old, value, to.entry(field).or_insert(Value::Null)),
                    None => drop(to.insert(field, value)),
                }
            }
        }
        (_, after, to) => *to = after,
    }
}

/// For kbr-testing.
#[doc(hidden)]
impl ApiServer {
    /// A stored object in the version of this path.
    ///
    /// # Panics
    /// If it cannot be converted.
    #[must_use]
    pub fn stored(&self, path: &Path) -> Option<Value> {
        let found = self.change_quietly(|objects| objects.read(path));
        found.unwrap_or_else(|error| panic!("cannot read {path}: {}", error.message()))
    }

    /// Stores an object as it is, unless that is rejected.
    ///
    /// # Panics
    /// If it is to be stored in another version, and cannot be converted.
    pub fn write(&self, path: &Path, object: Value) {
        let (stored_at, converted) = self.change_quietly(|objects| {
            let stored_at = objects.stored_path(path);
            (
                stored_at.clone(),
                objects.completed_at(object, path, &stored_at),
            )
        });
        let object =
            converted.unwrap_or_else(|error| panic!("cannot write {path}: {}", error.message()));
        if let Ok(Some(object)) = self.passed(&stored_at, Some(object)) {
            self.change(|objects| objects.put(&stored_at, object));
        }
    }

    /// Deletes an object, unless that is rejected.
    pub fn remove(&self, path: &Path) {
        let stored_at = self.change_quietly(|objects| objects.stored_path(path));
        if self.passed(&stored_at, None).is_ok() {
            self.change(|objects| objects.delete_now(&stored_at));
        }
    }

    fn passed(&self, path: &Path, object: Option<Value>) -> Decided {
        match self.gate() {
            Some(gate) => gate.decide(path, object),
            None => Ok(object),
        }
    }
}
