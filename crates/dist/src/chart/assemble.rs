//! The objects of all cases -> the files of the chart.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use anyhow::bail;
use serde_json::{Value, json};

use super::about::{self, About};
use super::condition::Cases;
use super::marks::Marks;
use super::merge::{Choice, merge};
use super::names;
use super::own::{self, Own};
use super::place::{self, Placed};
use super::role_namespaces::RoleNamespaces;
use super::switches::{self, Switches};
use super::text::Writer;
use super::values::{self, Row};
use super::{FOLDER, checks, is_manager, schemas};
use crate as dist;
use kbr_host::lines::one_line;
use kbr_manifests::files::Body;
use kbr_scaffold::yaml;

const CRD: &str = "CustomResourceDefinition";

/// A chart that is being made.
pub struct Chart<'a> {
    pub root: &'a Path,
    pub own: Own,
    pub about: About<'a>,
    pub switches: &'a Switches,
    pub marks: &'a Marks,
    /// All cases.
    pub all: Cases,
}

/// What makes an object the same in all cases: its API version, kind, namespace and name.
type Identity = [String; 4];

fn identity(object: &Value) -> Identity {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    [
        &object["apiVersion"],
        &object["kind"],
        &metadata["namespace"],
        &metadata["name"],
    ]
    .map(text)
}

/// The objects in each case -> each object in its cases.
fn by_identity(
    cases: &BTreeMap<usize, Vec<Rc<Value>>>,
) -> BTreeMap<Identity, BTreeMap<usize, &Value>> {
    let mut objects: BTreeMap<Identity, BTreeMap<usize, &Value>> = BTreeMap::new();
    for (case, rendered) in cases {
        for object in rendered {
            let by_case = objects.entry(identity(object)).or_default();
            by_case.insert(*case, object);
        }
    }
    objects
}

impl Chart<'_> {
    /// The files of the chart.
    ///
    /// # Errors
    /// An object has parts that a chart cannot express, or `config/chart` has errors.
    pub fn files(&self, cases: &BTreeMap<usize, Vec<Rc<Value>>>) -> anyhow::Result<Vec<Body>> {
        let objects = by_identity(cases);
        let mut files = Vec::new();
        let mut rows = self.rows_of_release();
        let mut crds = Vec::new();
        for (identity, by_case) in &objects {
            let mut merged = merge(by_case);
            if identity[1] == CRD {
                crds.push((identity[3].clone(), merged));
                continue;
            }
            if by_case.values().any(|object| is_manager(object)) {
                rows.extend(image(&mut merged)?);
                let plain =
                    |(setting, default)| row((setting, self.marks.names.plain_value(default)));
                rows.extend(place::place(&mut merged).into_iter().map(plain));
            }
            files.push(self.template(&self.path(identity), &merged)?);
        }
        rows.extend(self.rows_of_switches());
        rows.extend(self.marks.rows());
        // Helm prints them.
        let shown = |name: &String| self.marks.names.expand(&one_line(name));
        let kinds = crds.iter().map(|(name, _)| shown(name));
        let kinds: Vec<String> = kinds.collect();
        // In a copy, because looking for a part opens what is the same in all cases.
        let converts = |merged: &Choice| {
            let mut merged = merged.clone();
            place::find(&mut merged, "spec.conversion.strategy").is_some_and(|it| it == "Webhook")
        };
        let converted = crds.iter().filter(|(_, merged)| converts(merged));
        let converted = converted.map(|(name, _)| self.marks.names.plain(name));
        let converted: Vec<String> = converted.collect();
        if !crds.is_empty() {
            rows.extend(about::crd_values());
            files.extend(self.crds(crds)?);
        }
        let templates = own::templates(self.root, FOLDER)?;
        self.own.defaults(&mut rows, &templates)?;
        files.extend(templates);
        let checks = checks::template(self.switches, &self.marks.ports, &converted);
        files.push(Self::file("templates/checks.yaml", &checks));
        files.extend(self.others(&rows, &kinds)?);
        Ok(files)
    }

    pub(super) fn template(&self, path: &str, merged: &Choice) -> anyhow::Result<Body> {
        let writer = Writer {
            switches: &self.switches.values,
            marks: self.marks,
            own: &self.own.items,
        };
        Ok(Self::file(path, &writer.object(merged, &self.all)?))
    }

    pub(super) fn file(path: &str, text: &str) -> Body {
        Body {
            path: format!("{FOLDER}/{path}"),
            text: dist::header("chart") + text,
        }
    }

    /// The file of an object: below `templates/`, in a folder for each concern.
    fn path(&self, [api, kind, namespace, name]: &Identity) -> String {
        let group = api.split_once('/').map_or("", |(group, _)| group);
        let name = self.marks.names.plain(name);
        let name = RoleNamespaces::key(namespace).unwrap_or(self.marks.names.suffix(&name));
        let folder = match (group, kind.as_str()) {
            ("rbac.authorization.k8s.io", _) | ("", "ServiceAccount") => "rbac",
            ("apps" | "policy", _) => "manager",
            ("admissionregistration.k8s.io", _) => "webhook",
            ("", "Service") if name.contains("webhook") => "webhook",
            ("", "Service") if name.contains("metrics") => "metrics",
            ("cert-manager.io", _) => "cert-manager",
            ("monitoring.coreos.com", _) => "prometheus",
            ("networking.k8s.io", _) => "network-policy",
            _ => "extras",
        };
        format!("templates/{folder}/{}-{name}.yaml", kind.to_lowercase())
    }

    fn rows_of_release(&self) -> Vec<Row> {
        let name = self.marks.names.base();
        let label = json!({ "type": "string", "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?)?$", "maxLength": 30 });
        let about = format!("What the names of all objects begin with, instead of `{name}`");
        vec![
            Row::new("nameOverride", json!(""), label.clone(), about.clone()),
            Row::new(
                "fullnameOverride",
                json!(""),
                label,
                format!("{about}; it has precedence"),
            ),
        ]
    }

    fn rows_of_switches(&self) -> Vec<Row> {
        let row = |(number, value): (usize, &String)| {
            let default = self.switches.default & (1 << number) != 0;
            Row::new(
                value.clone(),
                json!(default),
                json!({ "type": "boolean" }),
                switches::about(value),
            )
        };
        let values = self.switches.values.iter().enumerate();
        // The CRDs have it, also in a chart in which nothing else depends on it.
        values
            .filter(|(_, value)| *value != "crd.enabled")
            .map(row)
            .collect()
    }

    /// What is not an object.
    fn others(&self, rows: &[Row], crds: &[String]) -> anyhow::Result<Vec<Body>> {
        let names = &self.marks.names;
        let name = self.about.name;
        let schema = serde_json::to_string_pretty(&values::schema(rows, name))? + "\n";
        let chart = yaml::render(&[about::chart(&self.about, !crds.is_empty())])?;
        let file = |path: &str, text: String| Body {
            path: format!("{FOLDER}/{path}"),
            text,
        };
        Ok(vec![
            Self::file("Chart.yaml", &chart),
            Self::file("values.yaml", &values::text(rows, &self.own.comments)?),
            Self::file(".helmignore", about::IGNORED),
            file("values.schema.json", schema),
            file("templates/_helpers.tpl", about::helpers(names)),
            file("templates/NOTES.txt", about::notes(names, crds)),
            file("README.md", about::readme(names, &values::table(rows))),
        ])
    }
}

fn row((setting, default): Placed) -> Row {
    let path = format!("manager.{}", setting.value);
    Row::new(path, default, (setting.schema)(), setting.about)
}

/// Replaces the image of the manager's container, and returns the values for it.
fn image(deployment: &mut Choice) -> anyhow::Result<Vec<Row>> {
    let image = place::find(deployment, "spec.template.spec.*.image");
    let Some(Value::String(image)) = image else {
        bail!("the image of the manager differs between components, which a chart cannot express");
    };
    let whole = std::mem::replace(image, names::IMAGE.to_owned());
    let (repository, tag) = match whole.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') && !whole.contains('@') => (repository, tag),
        _ => (whole.as_str(), ""),
    };
    Ok(vec![
        Row::new(
            "manager.image.repository",
            json!(repository),
            schemas::repository(),
            "The image without its tag; with a digest, the tag is ignored",
        ),
        Row::new(
            "manager.image.tag",
            json!(tag),
            schemas::tag(),
            "The tag or the digest of the image; the version of the chart if it is empty",
        ),
    ])
}
