//! What a real API server does with objects when their definition changes.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::pairs::{GROUP, Pair};
use crate::proxy::Proxy;
use crate::support::KBR;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long the API server may take to notice a definition.
const LIMIT: Duration = Duration::from_secs(60);

/// What happens to an existing object and its clients, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The API server rejects the new definition.
    Refused,
    /// A request that worked fails.
    Unserved,
    /// Content of the object is gone.
    Lost,
    /// An update of another field is rejected.
    Rejected,
    /// Only a new object with the same content is rejected.
    Tolerated,
    /// The object, or a new one from the same manifest, has other content.
    Different,
    /// Everything works as before.
    Accepted,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// A control plane; it ends with this value.
pub struct Server {
    proxy: Proxy,
}

impl Server {
    pub fn start() -> Self {
        Self {
            proxy: Proxy::start(Path::new(KBR)),
        }
    }

    /// Creates all definitions, and waits until each is served.
    fn define(&self, pairs: &[Pair]) {
        for pair in pairs {
            let (status, answer) = self.proxy.json("POST", DEFINITIONS, Some(&pair.old));
            assert_eq!(status, 201, "{}: {answer:#}", pair.name);
        }
        for pair in pairs {
            let path = format!("{DEFINITIONS}/{}.{GROUP}", pair.plural());
            Self::until(&pair.name, || {
                let conditions =
                    self.proxy.json("GET", &path, None).1["status"]["conditions"].clone();
                let all = conditions.as_array().into_iter().flatten();
                all.into_iter()
                    .any(|it| it["type"] == "Established" && it["status"] == "True")
            });
        }
    }

    /// Repeats requests until one has the expected answer.
    fn until(name: &str, mut is_done: impl FnMut() -> bool) {
        let start = Instant::now();
        while !is_done() {
            assert!(start.elapsed() < LIMIT, "{name}: nothing changes");
        }
    }

    /// Replaces the definition; whether the API server accepts it.
    fn redefine(&self, pair: &Pair) -> bool {
        let path = format!("{DEFINITIONS}/{}.{GROUP}", pair.plural());
        loop {
            let mut new = pair.new.clone();
            new["metadata"]["resourceVersion"] =
                self.proxy.json("GET", &path, None).1["metadata"]["resourceVersion"].clone();
            // Shows when the new definition is in use.
            for version in new["spec"]["versions"].as_array_mut().expect("versions") {
                version["additionalPrinterColumns"] =
                    json!([{ "name": "New", "type": "string", "jsonPath": ".kind" }]);
            }
            match self.proxy.json("PUT", &path, Some(&new)).0 {
                409 => {}
                status => return status == 200,
            }
        }
    }

    /// Waits until the new definition is in use.
    fn wait_for_new(&self, pair: &Pair) {
        let mut versions = pair.new["spec"]["versions"]
            .as_array()
            .expect("versions")
            .iter();
        let served = versions.any(|it| it["name"] == "v1" && it["served"] == true);
        Self::until(&pair.name, || {
            let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
            let (status, table) = self.proxy.request("GET", &objects(pair), accept, None);
            let columns = table["columnDefinitions"].as_array().into_iter().flatten();
            let is_new = columns.into_iter().any(|it| it["name"] == "New");
            if served { is_new } else { status == 404 }
        });
    }

    /// Creates the object.
    fn create(&self, pair: &Pair) -> Value {
        let mut created = Value::Null;
        Self::until(&pair.name, || {
            let (status, answer) = self.proxy.json("POST", &objects(pair), Some(&pair.object));
            assert!([201, 404].contains(&status), "{}: {answer:#}", pair.name);
            created = answer;
            status == 201
        });
        if let Some(request) = pair.request {
            Self::until(&pair.name, || {
                self.proxy.json("GET", &of(pair, request), None).0 == 200
            });
        }
        created
    }

    fn verdict(&self, pair: &Pair, stored: &Value) -> Verdict {
        let path = format!("{}/first", objects(pair));
        let (status, read) = self.proxy.json("GET", &path, None);
        if status != 200
            || pair
                .request
                .is_some_and(|it| self.proxy.json("GET", &of(pair, it), None).0 != 200)
        {
            return Verdict::Unserved;
        }
        if !contains(&read["spec"], &stored["spec"]) {
            return Verdict::Lost;
        }
        let is_same = read["spec"] == stored["spec"];
        for neighbour in &pair.neighbours {
            let mut changed = read.clone();
            *changed.pointer_mut(neighbour).expect("a neighbour") = json!("changed");
            let (status, answer) =
                self.proxy
                    .json("PUT", &format!("{path}?dryRun=All"), Some(&changed));
            if status != 200 {
                assert_eq!(status, 422, "{}: {answer:#}", pair.name);
                return Verdict::Rejected;
            }
        }
        let mut second = pair.object.clone();
        second["metadata"]["name"] = json!("second");
        match self.proxy.json("POST", &objects(pair), Some(&second)) {
            (201, created) if is_same && created["spec"] == stored["spec"] => Verdict::Accepted,
            (201, _) => Verdict::Different,
            (status, answer) => {
                assert_eq!(status, 422, "{}: {answer:#}", pair.name);
                Verdict::Tolerated
            }
        }
    }

    /// The verdict about each pair.
    pub fn verdicts(&self, pairs: &[Pair]) -> Vec<Verdict> {
        self.define(pairs);
        let stored: Vec<Value> = pairs.iter().map(|pair| self.create(pair)).collect();
        let accepted: Vec<bool> = pairs.iter().map(|pair| self.redefine(pair)).collect();
        let each = pairs.iter().zip(&stored).zip(accepted);
        each.map(|((pair, stored), accepted)| {
            if !accepted {
                return Verdict::Refused;
            }
            self.wait_for_new(pair);
            self.verdict(pair, stored)
        })
        .collect()
    }
}

fn objects(pair: &Pair) -> String {
    format!("/apis/{GROUP}/v1/namespaces/default/{}", pair.plural())
}

/// The path of a request for one or all objects.
fn of(pair: &Pair, request: &str) -> String {
    let name = if request.starts_with('?') {
        ""
    } else {
        "/first"
    };
    format!("{}{name}{request}", objects(pair))
}

/// Whether all content of `inner` is in `outer`.
fn contains(outer: &Value, inner: &Value) -> bool {
    match (outer, inner) {
        (Value::Object(outer), Value::Object(inner)) => inner
            .iter()
            .all(|(key, value)| outer.get(key).is_some_and(|it| contains(it, value))),
        (Value::Array(outer), Value::Array(inner)) => {
            outer.len() == inner.len() && outer.iter().zip(inner).all(|(a, b)| contains(a, b))
        }
        (outer, inner) => outer == inner,
    }
}
