//! The CRDs of a chart: in a subchart, unless they depend on values of the chart.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::assemble::Chart;
use super::condition::Cases;
use super::merge::{Choice, Node};
use super::names::{KEEP, Names};
use super::place::open;
use super::values::Row;
use super::{about, values};
use kbr_manifests::files::Body;
use kbr_scaffold::yaml;

/// The folder of the subchart.
const FOLDER: &str = "charts/crds";

impl Chart<'_> {
    /// The file of one CRD. It is in the subchart, which cannot read the values of the chart, if it is the same in all cases.
    ///
    /// # Errors
    /// It cannot be written as YAML.
    fn crd(&self, name: &str, mut merged: Choice) -> anyhow::Result<Body> {
        let same =
            matches!(merged.variants.as_slice(), [(cases, Node::Same(_))] if *cases == self.all);
        let (path, keep) = if same && !Names::prefixes(&merged) {
            (format!("{FOLDER}/templates/{name}.yaml"), ".Values.keep")
        } else {
            (format!("templates/crd/{name}.yaml"), ".Values.crd.keep")
        };
        annotate(&mut merged, &self.all);
        let mut file = self.template(&path, &merged)?;
        let line = format!("    helm.sh/resource-policy: {KEEP}\n");
        let conditional = format!(
            "    {{{{- if {keep} }}}}\n    helm.sh/resource-policy: keep\n    {{{{- end }}}}\n"
        );
        file.text = file.text.replace(&line, &conditional);
        if keep != ".Values.keep" {
            let (header, text) = file.text.split_once('\n').unwrap_or_default();
            file.text =
                format!("{header}\n{{{{- if .Values.crd.enabled }}}}\n{text}{{{{- end }}}}\n");
        }
        Ok(file)
    }

    /// The files of the CRDs, each with its name, and the other files of the subchart.
    ///
    /// # Errors
    /// One cannot be written as YAML.
    pub(super) fn crds(&self, crds: Vec<(String, Choice)>) -> anyhow::Result<Vec<Body>> {
        let file =
            |(name, merged): (String, Choice)| self.crd(&self.marks.names.plain(&name), merged);
        let mut files: Vec<Body> = crds.into_iter().map(file).collect::<anyhow::Result<_>>()?;
        files.extend(self.subchart()?);
        Ok(files)
    }

    fn subchart(&self) -> anyhow::Result<Vec<Body>> {
        let rows: Vec<Row> = about::crd_values()
            .into_iter()
            .map(|row| Row {
                path: row.path.trim_start_matches("crd.").to_owned(),
                ..row
            })
            .collect();
        let schema = serde_json::to_string_pretty(&values::schema(&rows, "crds"))? + "\n";
        Ok(vec![
            Self::file(
                &format!("{FOLDER}/Chart.yaml"),
                &yaml::render(&[about::crds(&self.about)])?,
            ),
            Self::file(
                &format!("{FOLDER}/values.yaml"),
                &values::text(&rows, &BTreeMap::new())?,
            ),
            Body {
                path: format!("{}/{FOLDER}/values.schema.json", super::FOLDER),
                text: schema,
            },
        ])
    }
}

/// What the CRDs take of the Secret in which Helm stores a release, in bytes: their manifests, compressed and in base64. A Secret can have
/// 1 MiB.
///
/// # Errors
/// Never, since all of it is in memory.
pub fn stored(files: &[Body]) -> anyhow::Result<usize> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
    for file in files {
        let path = file.path.trim_start_matches(super::FOLDER);
        if path.starts_with("/charts/crds/templates/") || path.starts_with("/templates/crd/") {
            compressed.write_all(file.text.as_bytes())?;
        }
    }
    Ok(compressed.finish()?.len().div_ceil(3) * 4)
}

/// Adds the annotation by which Helm keeps an object.
fn annotate(crd: &mut Choice, all: &Cases) {
    let policy = || {
        (
            "helm.sh/resource-policy".to_owned(),
            Node::Same(json!(KEEP)),
        )
    };
    for (cases, node) in &mut crd.variants {
        open(node, cases);
        let Node::Map(parts) = node else { continue };
        let Some((_, metadata)) = parts.iter_mut().find(|(key, _)| key == "metadata") else {
            continue;
        };
        for (cases, node) in &mut metadata.variants {
            open(node, cases);
            let Node::Map(parts) = node else { continue };
            let (key, value) = policy();
            let part = Choice {
                variants: vec![(cases.clone(), value)],
            };
            if let Some((_, annotations)) = parts.iter_mut().find(|(key, _)| key == "annotations") {
                for (cases, node) in &mut annotations.variants {
                    open(node, cases);
                    if let Node::Map(entries) = node {
                        entries.push((key.clone(), part.clone()));
                        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
                    }
                }
            } else {
                let only = Choice {
                    variants: vec![(all.clone(), Node::Map(vec![(key, part)]))],
                };
                parts.insert(0, ("annotations".to_owned(), only));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crds_count() {
        let file = |path: &str, text: &str| Body {
            path: format!("{}/{path}", super::super::FOLDER),
            text: text.to_owned(),
        };
        let size = |files: &[Body]| stored(files).unwrap();
        let empty = size(&[]);
        assert!(empty < 40);
        assert_eq!(size(&[file("values.yaml", "a")]), empty);
        for path in ["charts/crds/templates/a.yaml", "templates/crd/a.yaml"] {
            assert!(size(&[file(path, "abcdefgh")]) > empty, "{path}");
        }
        let repeated = "description: the same\n".repeat(10_000);
        assert!(size(&[file("templates/crd/a.yaml", &repeated)]) < repeated.len() / 50);
    }
}
