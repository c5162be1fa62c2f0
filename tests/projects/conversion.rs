//! Three versions of a kind, converted through the hub for a real API server.

use super::{place::place, support::write};

/// Each version has its own name for the one field, so that the storage version can be recognized.
const CONVERSION: &str = r#"//! Conversion for a real API server.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kbr_testing::{Cluster, eventually};
use serde_json::{Value, json};

const FIELDS: [(&str, &str); 3] = [("v1", "message"), ("v2", "salute"), ("v3", "words")];
const LIMIT: Duration = Duration::from_secs(180);

struct Captains {
    cluster: Cluster,
    crds: Api<CustomResourceDefinition>,
}

impl Captains {
    /// An object in the output of `kubectl`.
    fn read(&self, version: &str, name: &str) -> anyhow::Result<Value> {
        let namespace = self.cluster.namespace();
        let path = format!("/apis/crew.example.com/{version}/namespaces/{namespace}/captains/{name}");
        Ok(serde_json::from_str(&self.cluster.kubectl(&["get", "--raw", &path])?)?)
    }

    /// Whether each object can be read in each version without loss.
    fn all_in_each(&self) -> anyhow::Result<Option<()>> {
        for (version, field) in FIELDS {
            for (written, _) in FIELDS {
                let object = self.read(version, &format!("of-{written}"))?;
                anyhow::ensure!(object["spec"] == json!({ field: "ahoy" }), "{version}: {object}");
                anyhow::ensure!(object["metadata"]["annotations"]["a"] == "b", "{object}");
                // Set by the controller, which knows only v1.
                anyhow::ensure!(object["status"]["conditions"][0]["type"] == "Ready", "{object}");
            }
        }
        Ok(Some(()))
    }

    /// Whether all objects are stored in this version. Without conversion, requesting another version only changes `apiVersion`, and
    /// drops fields that it does not know.
    fn stored_as(&self, stored: &str) -> anyhow::Result<Option<()>> {
        for (version, field) in FIELDS {
            for (written, _) in FIELDS {
                let object = self.read(version, &format!("of-{written}"))?;
                let there = object["spec"][field] == "ahoy";
                anyhow::ensure!(there == (version == stored), "{version}: {object}");
            }
        }
        Ok(Some(()))
    }

    async fn crd(&self) -> anyhow::Result<CustomResourceDefinition> {
        Ok(self.crds.get("captains.crew.example.com").await?)
    }

    async fn change_crd(&self, spec: &Value) -> anyhow::Result<()> {
        let change = Patch::Merge(json!({ "spec": spec }));
        self.crds.patch("captains.crew.example.com", &PatchParams::default(), &change).await?;
        Ok(())
    }

    async fn store(&self, stored: &str) -> anyhow::Result<()> {
        let mut versions = self.crd().await?.spec.versions;
        for version in &mut versions {
            version.storage = version.name == stored;
        }
        self.change_crd(&json!({ "versions": versions })).await
    }

    /// Rewrites each object like a storage version migration.
    fn rewrite(&self, stored: &str) -> anyhow::Result<Option<()>> {
        for (written, _) in FIELDS {
            let label = format!("stored={stored}");
            let name = format!("captains.v3.crew.example.com/of-{written}");
            self.cluster.kubectl(&["label", "--overwrite", &name, &label])?;
        }
        Ok(Some(()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_written_in_any_version_can_be_read_in_every_version() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(env!("CARGO_BIN_EXE_fleet"))?;
    let crds = Api::all(cluster.client());
    let captains = Captains { cluster, crds };
    for (version, field) in FIELDS {
        let object = json!({
            "apiVersion": format!("crew.example.com/{version}"),
            "kind": "Captain",
            "metadata": { "name": format!("of-{version}"), "annotations": { "a": "b" } },
            "spec": { field: "ahoy" },
        });
        let folder = std::env::temp_dir().join(captains.cluster.namespace());
        std::fs::create_dir_all(&folder)?;
        let file = folder.join(version);
        std::fs::write(&file, object.to_string())?;
        let file = file.to_string_lossy();
        captains.cluster.kubectl(&["apply", "--filename", &file])?;
    }
    let stored = captains.crd().await?.spec.versions.into_iter().find(|version| version.storage);
    assert_eq!(stored.map(|version| version.name).as_deref(), Some("v2"), "from the project");

    for stored in ["v2", "v1", "v3", "v2"] {
        captains.store(stored).await?;
        eventually(LIMIT, "all are read in each version", async || captains.all_in_each()).await?;
        eventually(LIMIT, "all are stored again", async || {
            eventually(LIMIT, "all are rewritten", async || captains.rewrite(stored)).await?;
            let conversion = captains.crd().await?.spec.conversion;
            captains.change_crd(&json!({ "conversion": { "strategy": "None", "webhook": null } })).await?;
            let found = eventually(Duration::from_secs(3), "stored", async || captains.stored_as(stored)).await;
            captains.change_crd(&json!({ "conversion": conversion })).await?;
            found.map(Some)
        })
        .await?;
        eventually(LIMIT, "all are read in each version", async || captains.all_in_each()).await?;
    }
    captains.cluster.close().await
}
"#;

/// A field that another version cannot hold.
const CARRY: &str = r#"
#[cfg(test)]
mod tests {
    #[derive(Debug, serde::Deserialize, PartialEq)]
    struct Small {
        name: String,
        size: u8,
    }

    #[test]
    fn a_field_that_does_not_fit_is_named() {
        let carry = |size: i32| super::carry(&serde_json::json!({ "name": "a", "size": size }));
        let name = "a".to_owned();
        assert_eq!(carry(2).ok(), Some(Small { name, size: 2 }));
        let error = carry(300).map(|_: Small| ()).map_err(|error| error.to_string());
        let expected = "`size`: invalid value: integer `300`, expected u8";
        assert_eq!(error, Err(expected.to_owned()));
    }
}
"#;

#[test]
fn three_versions_of_a_kind_are_converted_through_the_hub() {
    let place = place();
    let project = place.project("fleet");
    project.kbr("init --domain example.com");
    let create = |version: &str, rest: &str| {
        project.create_api(&format!(
            "--group crew --version {version} --kind Captain --resource {rest}"
        ));
    };
    create("v1", "--controller");
    create("v2", "--controller=false");
    project.kbr("create webhook --group crew --version v2 --kind Captain --conversion --spoke v1");
    create("v3", "--controller=false");
    project.lint();
    project.test();

    // Renamed fields are not copied, which the scaffolded test detects.
    project.replace("api/src/crew/v2/captain.rs", "pub message:", "pub salute:");
    project.replace("api/src/crew/v3/captain.rs", "pub message:", "pub words:");
    project.run("make", &["manifests"]);
    let lost = project.fails("cargo", &["test", "--bins"]);
    for (version, field) in [("v1", "message"), ("v3", "words")] {
        let expected = [
            format!("{version}: `spec.{field}` was "),
            format!("nothing_is_lost_between_{version}_and_v2 ... FAILED"),
        ];
        for line in expected {
            assert!(lost.contains(&line), "{line:?} is not in:\n{lost}");
        }

        let file = format!("api/src/crew/{version}/captain_conversion.rs");
        let text = std::fs::read_to_string(project.0.join(&file)).expect("a file");
        let carried = "            spec: carry(&object.spec)?,\n";
        assert_eq!(text.matches(carried).count(), 2, "{text}");
        let to_hub = format!("spec: hub::CaptainSpec {{ salute: object.spec.{field} }},\n");
        let from_hub = format!("spec: super::CaptainSpec {{ {field}: object.spec.salute }},\n");
        let text = text
            .replacen(carried, &to_hub, 1)
            .replacen(carried, &from_hub, 1);
        write(&project.0.join(file), text.as_bytes());
    }
    // Follows the note of `create webhook`, so that the hub becomes the storage version.
    let line = "    storage = false,\n";
    project.replace("api/src/crew/v2/captain.rs", line, "");
    let namespaced = "    namespaced,\n";
    let moved = [namespaced, line].concat();
    project.replace("api/src/crew/v1/captain.rs", namespaced, &moved);
    write(
        &project.0.join("tests/integration/conversion.rs"),
        CONVERSION.as_bytes(),
    );
    let shared = project.0.join("api/src/conversion.rs");
    let text = std::fs::read_to_string(&shared).expect("a file");
    write(&shared, [&text, CARRY].concat().as_bytes());
    project.replace(
        "tests/integration/main.rs",
        "// +kbr:scaffold:modules",
        "mod conversion;\n// +kbr:scaffold:modules",
    );
    project.run("cargo", &["fmt", "--all"]);
    project.test();

    // Only conversion: no webhook configuration exists, and nothing refers to one.
    project.cluster("make install deploy IMG=registry.example.com/fleet:v1");

    // A served version without conversion does not compile, or is reported.
    project.replace("api/src/crew/v3/mod.rs", "mod captain_conversion;\n", "");
    let missing = project.fails("cargo", &["check", "--package", "fleet-api"]);
    assert!(
        missing.contains("no function or associated item named `spoke`"),
        "{missing}"
    );
}
