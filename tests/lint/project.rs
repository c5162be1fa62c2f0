//! A project whose generator prints the definitions of the test, with the sources of the fixtures.

use std::fs;
use std::process::Command;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::support::{self, KBR, copy, repository, write};

/// The generator is built once; each run of `kbr manifests` reads other definitions.
pub struct Project(TempDir);

impl Project {
    pub fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let package = |name: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
        };
        // A text stands for a definition whose derive macro panics with it.
        // The types agree with their schemas: what is read is written.
        let generator = "fn main() {
            if std::env::args().nth(1).is_some() {
                return std::io::stdin().lines().for_each(|object| println!(\"{{\\\"Ok\\\":{}}}\", object.unwrap()));
            }
            let crds = std::fs::read_to_string(\"crds.json\").unwrap();
            assert!(!crds.starts_with(\"[\\\"\"), \"{}\", crds.replace('\\\\', \"\"));
            print!(\"{crds}\");
        }\n";
        let files = [
            (
                "PROJECT",
                "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"fixtures\"\ndomain = \"example.com\"\n"
                    .to_owned(),
            ),
            (
                "Cargo.toml",
                package("fixtures") + "[workspace]\nmembers = [\"api\"]\n",
            ),
            ("src/main.rs", "fn main() {}\n".to_owned()),
            ("api/Cargo.toml", package("fixtures-api")),
            ("api/src/bin/fixtures-crdgen.rs", generator.to_owned()),
        ];
        for (path, text) in files {
            write(&root.path().join(path), text.as_bytes());
        }
        copy(
            &repository().join("crates/lint-fixtures/src"),
            &root.path().join("api/src/fixtures"),
        );
        Self(root)
    }

    /// The findings of `kbr manifests --check` for these definitions, without stale files.
    pub fn manifests(&self, crds: &Value) -> String {
        self.findings(crds, &["manifests", "--check", "--crd-only"])
    }

    /// The findings including those for a sample.
    pub fn sample(&self, crds: &Value, text: &str) -> String {
        let path = self.0.path().join("config/samples/sample.yaml");
        write(&path, text.as_bytes());
        self.findings(crds, &["manifests", "--check"])
    }

    /// The result of `kbr manifests` for a sample that was never edited.
    pub fn filled(&self, crds: &Value, body: &str) -> String {
        let path = self.0.path().join("config/samples/filled.yaml");
        let digest = Sha256::digest(body);
        // The first 12 hexadecimal digits.
        let sum = digest[..6]
            .iter()
            .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        write(
            &path,
            format!("# kbr:sample {sum:012x}: a checksum\n{body}").as_bytes(),
        );
        self.written(crds);
        fs::read_to_string(path).expect("the sample")
    }

    fn findings(&self, crds: &Value, arguments: &[&str]) -> String {
        write(
            &self.0.path().join("crds.json"),
            crds.to_string().as_bytes(),
        );
        let output = Command::new(KBR)
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("CARGO_TARGET_DIR")
            .env("RUST_BACKTRACE", "0")
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_QUIET", "true")
            .output()
            .expect("kbr runs");
        let printed = support::stderr(&output, self.0.path());
        let end = printed.find("error: 1 manifest is stale");
        let others = [
            "PROJECT does not list it",
            "add an `[[api]]` as `kbr create api` does",
            "thread 'main'",
            "crds.starts_with",
            "RUST_BACKTRACE",
        ];
        let known =
            |line: &&str| !line.is_empty() && !others.iter().any(|other| line.contains(other));
        let lines = printed[..end.unwrap_or(printed.len())]
            .lines()
            .filter(known);
        lines.flat_map(|line| [line, "\n"]).collect()
    }

    /// The single definition that `kbr manifests` writes.
    pub fn written(&self, crds: &Value) -> Value {
        let path = self.0.path();
        write(&path.join("crds.json"), crds.to_string().as_bytes());
        let output = Command::new(KBR)
            .arg("manifests")
            .current_dir(path)
            .env_remove("CARGO_TARGET_DIR")
            .env("CARGO_NET_OFFLINE", "true")
            .output()
            .expect("kbr runs");
        let printed = support::stderr(&output, path);
        assert!(output.status.success(), "{printed}");
        let mut files = support::tree(&path.join("config/crd/bases")).into_values();
        let text = files.next().expect("a definition");
        serde_yaml_ng::from_slice(&text).expect("YAML")
    }
}
