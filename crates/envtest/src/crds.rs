//! Custom resource definitions: read from folders, installed, and waited for.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use super::apply::{self, printed};
use super::client::Client;
use super::control_plane::ControlPlane;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::regular;

/// The time limit for the API server to serve one more version of the installed CRDs: many of them take longer together.
const LIMIT: Duration = Duration::from_secs(30);

/// The custom resource definitions in the `.yaml`, `.yml` and `.json` files of `folder`; other objects are left out.
pub fn read(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .with_context(|| format!("cannot read `{}`", folder.display()))?;
    paths.retain(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json"))
    });
    paths.sort();
    let mut crds = Vec::new();
    for path in paths {
        crds.extend(
            documents(&path)?
                .into_iter()
                .filter(|object| object["kind"] == "CustomResourceDefinition"),
        );
    }
    Ok(crds)
}

/// All documents in a YAML or JSON file.
pub fn documents(path: &Path) -> anyhow::Result<Vec<Value>> {
    let text =
        regular::followed(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    parse(&text).with_context(|| format!("`{}` is not YAML", path.display()))
}

/// All documents of a YAML or JSON text.
pub fn parse(text: &str) -> anyhow::Result<Vec<Value>> {
    kbr_host::yaml::documents(text)
}

/// Removes the conversion by a Service, which no operator serves here: the kinds could not even be read.
/// Returns the names of these CRDs.
pub fn remove_conversion(crds: &mut [Value]) -> Vec<String> {
    let mut names = Vec::new();
    for crd in crds {
        let conversion = crd.pointer_mut("/spec/conversion");
        let of_service = |how: &Value| how.pointer("/webhook/clientConfig/service").is_some();
        if let Some(conversion) = conversion.filter(|how| of_service(how)) {
            *conversion = json!({ "strategy": "None" });
            names.extend(crd["metadata"]["name"].as_str().map(str::to_owned));
        }
    }
    names
}

/// Applies `crds`, and waits until each served version can be used.
pub fn install(plane: &ControlPlane, crds: &[Value]) -> anyhow::Result<()> {
    let client = plane.client()?;
    let errors: Vec<String> = crds
        .iter()
        .filter_map(|crd| apply(&client, crd).err())
        .map(|error| format!("{error:#}"))
        .collect();
    if !errors.is_empty() {
        return Err(Diagnostic::new("the API server rejects the CRDs:")
            .list(errors)
            .into());
    }
    wait(plane, crds)
}

/// Waits until each served version of `crds` can be used; if a webhook converts its objects, until it is listed.
///
/// # Errors
/// The API server does not answer, or does not serve them in time.
pub fn wait(plane: &ControlPlane, crds: &[Value]) -> anyhow::Result<()> {
    let client = plane.client()?;
    for version in served(crds) {
        let deadline = Instant::now() + LIMIT;
        while !is_listed(&client, &version)?
            || !version.converted && !is_readable(&client, &version)?
        {
            if Instant::now() > deadline {
                let text = format!(
                    "the API server did not serve `{}` within {} s",
                    version.plural,
                    LIMIT.as_secs()
                );
                return Err(Diagnostic::new(text)
                    .details(conditions(plane, &version)?)
                    .into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(())
}

/// Reports the number of installed CRDs, if there are any.
pub fn report_installed(crds: &[Value]) {
    if !crds.is_empty() {
        apply::report_installed(crds.len(), "CRD");
    }
}

fn apply(client: &Client, crd: &Value) -> anyhow::Result<()> {
    let text = |path: &str| crd.pointer(path).and_then(Value::as_str);
    let name = text("/metadata/name").context("a CRD has no name")?;
    let version = text("/apiVersion").with_context(|| format!("`{name}` has no `apiVersion`"))?;
    client.apply(
        &format!("/apis/{version}/customresourcedefinitions/{name}"),
        crd,
    )
}

/// One served version of a kind.
#[derive(Debug, PartialEq)]
struct Served {
    group: String,
    version: String,
    plural: String,
    /// Whether a webhook converts its objects, which may not be served yet.
    converted: bool,
}

fn served(crds: &[Value]) -> Vec<Served> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all = Vec::new();
    for spec in crds.iter().map(|crd| &crd["spec"]) {
        let versions = spec["versions"].as_array().into_iter().flatten();
        for version in versions.filter(|version| version["served"] == true) {
            all.push(Served {
                group: text(&spec["group"]),
                version: text(&version["name"]),
                plural: text(&spec["names"]["plural"]),
                converted: spec["conversion"]["strategy"] == "Webhook",
            });
        }
    }
    all
}

fn is_listed(client: &Client, version: &Served) -> anyhow::Result<bool> {
    let path = format!("/apis/{}/{}", version.group, version.version);
    // The API server answers with 404 until it serves the group.
    let Ok(list) = client.get(&path) else {
        return Ok(false);
    };
    let list: Value = serde_json::from_reader(list)?;
    let mut resources = list["resources"].as_array().into_iter().flatten();
    Ok(resources.any(|resource| resource["name"] == version.plural.as_str()))
}

/// Whether the objects of a version can be listed: the API server fills a cache of them at the first request, and answers
/// with 429 meanwhile. For the deletion of a CRD it lists the objects, too, and would try again only after minutes.
fn is_readable(client: &Client, version: &Served) -> anyhow::Result<bool> {
    let Served {
        group,
        version,
        plural,
        ..
    } = version;
    // Without a selector, the API server may read from etcd instead.
    let selector = "fieldSelector=metadata.name%3Dnone";
    let status = client.status(&format!("/apis/{group}/{version}/{plural}?{selector}"))?;
    Ok(![404, 429].contains(&status))
}

/// Why a kind is not served: the conditions in the status of its CRD.
fn conditions(plane: &ControlPlane, version: &Served) -> anyhow::Result<String> {
    let name = format!("crd/{}.{}", version.plural, version.group);
    let output = plane
        .kubectl()
        .args(["get", &name, "-o", "jsonpath={.status.conditions}"])
        .output()?;
    Ok(printed(&output))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_definition_is_read_only_from_a_regular_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        let error = || format!("{:#}", read(folder.path()).unwrap_err());
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(error().ends_with("it is not a regular file"), "{}", error());
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert!(error().ends_with("it is not a regular file"), "{}", error());
        fs::remove_file(&path).unwrap();
        let sparse = fs::File::create(&path).unwrap();
        sparse.set_len(1 << 40).unwrap();
        assert!(error().ends_with("it is larger than 16 MiB"), "{}", error());
        fs::write(&path, "kind: CustomResourceDefinition\n").unwrap();
        assert_eq!(read(folder.path()).unwrap().len(), 1);
    }
}
