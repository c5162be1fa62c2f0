//! The Dockerfile of a generated project.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Names of Debian's releases, as images of Rust have them, and numbers, as distroless images have them.
const RELEASES: [(&str, &str); 3] = [("bookworm", "12"), ("trixie", "13"), ("forky", "14")];

#[test]
fn builder_and_runtime_are_of_the_same_debian_release() {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("scaffolds/v1/init/Dockerfile.tera");
    let dockerfile = fs::read_to_string(template).unwrap();
    let args: BTreeMap<_, _> = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("ARG ")?.split_once('='))
        .collect();
    let images: Vec<String> = dockerfile
        .lines()
        .filter(|line| line.starts_with("FROM "))
        .map(|line| {
            args.iter().fold(line.to_owned(), |line, (name, value)| {
                line.replace(&format!("${{{name}}}"), value)
            })
        })
        .collect();
    let [builder, runtime] = &images[..] else {
        panic!("{images:?}")
    };
    let release = RELEASES
        .iter()
        .find(|(name, _)| builder.contains(&format!("-{name} ")));
    let Some((_, number)) = release else {
        panic!("no release in `{builder}`")
    };
    assert!(
        runtime.contains(&format!("/cc-debian{number}:")),
        "`{builder}` builds, `{runtime}` runs"
    );
}
