//! Reads that an API server which lags behind answers with what was stored before.
//!
//! Source: "Resource versions" in `kubernetes.io/docs/reference/using-api/api-concepts`. A read without a version sees
//! all that was written before; one with the version 0 may see any earlier state, and one with another version any state
//! since then.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Call,
    path::Path,
    store::{Objects, Stored},
};

impl Call {
    /// The oldest version that may answer this read; `None` if it must see all that was written.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        let of = |name: &str| self.query.get(name).map_or("", String::as_str);
        let begins_with_list = !self.watches() || of("sendInitialEvents") == "true";
        let is_exact = of("resourceVersionMatch") == "Exact" || !of("continue").is_empty();
        match of("resourceVersion") {
            _ if self.method != hyper::Method::GET || is_exact => None,
            "0" if self.watches() && of("sendInitialEvents") == "false" => None,
            "0" => Some(0),
            // With a limit, the list is that of exactly this version.
            from if begins_with_list && of("limit").is_empty() => from.parse().ok(),
            _ => None,
        }
    }
}

impl Objects {
    /// The version at which this read sees the objects.
    pub(super) fn seen_by(&self, call: &Call) -> u64 {
        match (self.lags_at, call.oldest()) {
            (Some(lag), Some(oldest)) => lag.max(oldest).min(self.version),
            _ => self.version,
        }
    }

    /// An object as it was at a version, as it is sent.
    pub(super) fn object_at(&self, version: u64, path: &Path) -> Option<Value> {
        let mut newer = self.changes.iter().rev();
        let newer = newer.by_ref().take_while(|change| change.version > version);
        match newer.filter(|change| change.path == *path).last() {
            Some(change) => change.old.clone(),
            None => self.stored.get(path).map(Stored::whole),
        }
    }

    /// The objects as they were at a version, as they are sent.
    pub(super) fn at(
        &self,
        version: u64,
        are_wanted: impl Fn(&Path) -> bool,
    ) -> BTreeMap<&Path, Value> {
        let here = self.stored.iter().filter(|(path, _)| are_wanted(path));
        let mut objects: BTreeMap<_, _> =
            here.map(|(path, stored)| (path, stored.whole())).collect();
        let newer = self.changes.iter().rev();
        let newer = newer.take_while(|change| change.version > version);
        for change in newer.filter(|change| are_wanted(&change.path)) {
            match &change.old {
                Some(old) => drop(objects.insert(&change.path, old.clone())),
                None => drop(objects.remove(&change.path)),
            }
        }
        objects
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;
    use serde_json::json;

    use super::*;
    use crate::query::parameters;

    fn oldest(query: &str) -> Option<u64> {
        let call = Call {
            method: Method::GET,
            path: Path::parse("/api/v1/namespaces/default/configmaps").unwrap(),
            query: parameters(query),
            media_type: String::new(),
            accept: String::new(),
            agent: String::new(),
            body: Value::Null,
        };
        call.oldest()
    }

    #[test]
    fn only_a_read_that_allows_it_may_be_out_of_date() {
        for query in [
            "",
            "limit=500",
            "watch=1",
            "resourceVersion=7&resourceVersionMatch=Exact",
            "resourceVersion=7&limit=500",
            "watch=1&resourceVersion=7",
            "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
            "watch=1&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
        ] {
            assert_eq!(oldest(query), None, "{query}");
        }
        let not_older = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        assert_eq!(oldest("resourceVersion=0"), Some(0));
        assert_eq!(oldest("resourceVersion=0&limit=500"), Some(0));
        assert_eq!(oldest("watch=1&resourceVersion=0"), Some(0));
        assert_eq!(oldest(&format!("{not_older}&resourceVersion=0")), Some(0));
        assert_eq!(oldest(&format!("{not_older}&resourceVersion=7")), Some(7));
        assert_eq!(oldest("resourceVersion=7"), Some(7));
    }

    #[test]
    fn the_objects_are_shown_as_they_were() {
        let mut objects = Objects::default();
        let path = |name: &str| {
            Path::parse(&format!("/api/v1/namespaces/default/configmaps/{name}")).unwrap()
        };
        let map = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"a": value}});
        objects.put(&path("kept"), map("1"));
        objects.put(&path("gone"), map("1"));
        let version = objects.version;
        objects.put(&path("kept"), map("2"));
        objects.put(&path("new"), map("2"));
        objects.remove(&path("gone"));
        let shown = |version| -> Vec<_> {
            let all = objects.at(version, |_| true);
            all.into_iter()
                .map(|(path, object)| (path.name.clone(), object["data"]["a"].clone()))
                .collect()
        };
        let pair = |name: &str, value: &str| (name.to_owned(), json!(value));
        assert_eq!(shown(version), [pair("gone", "1"), pair("kept", "1")]);
        assert_eq!(objects.object_at(version, &path("new")), None);
        let old = objects.object_at(version, &path("kept")).unwrap();
        assert_eq!(old["data"]["a"], "1");
        let now = objects.version;
        assert_eq!(shown(now), [pair("kept", "2"), pair("new", "2")]);
    }
}
