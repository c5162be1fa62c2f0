//! A release of an operator, and how its Deployment runs it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::KBR;

pub struct Release {
    pub program: PathBuf,
    /// A file with a JSON object in each document.
    pub install: PathBuf,
}

/// The operator of captains. It is built once, if it is not up to date.
pub fn captains() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let cargo = [
            "build",
            "--quiet",
            "--workspace",
            "--all-features",
            "--example",
            "releases",
        ];
        let built = Command::new(env!("CARGO")).args(cargo).status().unwrap();
        assert!(built.success());
        Path::new(KBR).with_file_name("examples").join("releases")
    })
}

impl Release {
    /// A release of the operator of captains.
    pub fn of_captains(name: &str) -> &'static Self {
        static ALL: OnceLock<BTreeMap<&str, Release>> = OnceLock::new();
        let all = ["1", "2", "defaults", "fights", "ends"];
        let all = ALL.get_or_init(|| all.map(|it| (it, Self::installed_by(it))).into());
        &all[name]
    }

    fn installed_by(name: &str) -> Self {
        let mut operator = Command::new(captains());
        let printed = operator.arg("install").env("RELEASE", name).output();
        let folder = folder();
        let install = folder.join(format!("captains-{name}.yaml"));
        fs::write(&install, printed.unwrap().stdout).unwrap();
        Self {
            program: captains().to_owned(),
            install,
        }
    }

    /// What its installer applies.
    pub fn objects(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.install).unwrap();
        let documents = text.split("---\n").filter(|it| !it.is_empty());
        documents
            .map(|it| serde_json::from_str(it).unwrap())
            .collect()
    }

    fn deployment(&self) -> Value {
        let mut objects = self.objects().into_iter();
        objects.find(|it| it["kind"] == "Deployment").unwrap()
    }

    fn container(&self) -> Value {
        self.deployment()["spec"]["template"]["spec"]["containers"][0].take()
    }

    /// The namespace and the name of its `ServiceAccount`.
    pub fn account(&self) -> (String, String) {
        let deployment = self.deployment();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let account = &deployment["spec"]["template"]["spec"]["serviceAccountName"];
        (text(&deployment["metadata"]["namespace"]), text(account))
    }

    /// Those of its container, with ports that are free on this machine.
    pub fn arguments(&self, webhook_port: u16) -> Vec<String> {
        let container = self.container();
        let arguments = container["args"].as_array().unwrap().iter();
        let mut all: Vec<String> = arguments
            .map(|it| it.as_str().unwrap().to_owned())
            .filter(|it| !it.contains("-bind-address=") && !it.starts_with("--webhook-port="))
            .collect();
        all.push("--health-probe-bind-address=127.0.0.1:0".to_owned());
        all.push("--metrics-bind-address=0".to_owned());
        all.push("--webhook-host=127.0.0.1".to_owned());
        all.push(format!("--webhook-port={webhook_port}"));
        all
    }

    pub fn environment(&self) -> Vec<(String, String)> {
        let container = self.container();
        let variables = container["env"].as_array().into_iter().flatten();
        let pair = |it: &Value| {
            let value = it["value"].as_str()?.to_owned();
            Some((it["name"].as_str()?.to_owned(), value))
        };
        variables.filter_map(pair).collect()
    }

    /// The kinds in its roles, for kubectl.
    pub fn kinds(&self) -> String {
        let mut all = BTreeSet::new();
        let objects = self.objects();
        let rules = objects
            .iter()
            .flat_map(|it| it["rules"].as_array().into_iter().flatten());
        for rule in rules {
            let texts = |field: &str| {
                let list = rule[field].as_array().into_iter().flatten();
                list.map(|it| it.as_str().unwrap().to_owned())
                    .collect::<Vec<String>>()
            };
            for (group, resource) in texts("apiGroups")
                .iter()
                .flat_map(|group| texts("resources").into_iter().map(move |it| (group, it)))
            {
                let resource = resource.split('/').next().unwrap();
                if !UNLISTED.contains(&resource) {
                    all.insert(format!("{resource}.{group}"));
                }
            }
        }
        let all: Vec<&str> = all.iter().map(|it| it.trim_end_matches('.')).collect();
        all.join(",")
    }
}

/// What no plan has, or nothing can list.
const UNLISTED: [&str; 4] = ["events", "leases", "tokenreviews", "subjectaccessreviews"];

/// For the files of these tests.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plan");
    fs::create_dir_all(&folder).unwrap();
    folder
}
