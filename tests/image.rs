//! The Dockerfile of a generated project.

mod support;

use std::fs;
use std::path::Path;

use support::{copy, shell, stderr, stdout, write};

/// Debian releases: the names in Rust's images, and the numbers in distroless images.
const RELEASES: [(&str, &str); 3] = [("bookworm", "12"), ("trixie", "13"), ("forky", "14")];

#[test]
fn builder_and_runtime_use_the_same_debian_release() {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("scaffolds/v1/init/Dockerfile.tera");
    let dockerfile = fs::read_to_string(template).unwrap();
    let images: Vec<&str> = dockerfile
        .lines()
        .filter(|line| line.starts_with("FROM "))
        .collect();
    let [builder, runtime] = &images[..] else {
        panic!("{images:?}")
    };
    let release = RELEASES
        .iter()
        .find(|(name, _)| builder.contains(&format!("-slim-{name}")));
    let Some((_, number)) = release else {
        panic!("no release in `{builder}`")
    };
    assert!(
        runtime.contains(&format!("/cc-debian{number}:")),
        "`{builder}` builds, `{runtime}` runs"
    );
}

/// The layer of the dependencies, with `cargo build` replaced by a check of the files: every member of the workspace must have its
/// manifest, and every target in a manifest its source.
#[test]
fn the_dependency_layer_has_every_manifest_and_target() {
    let folder = tempfile::tempdir().unwrap();
    let (project, image) = (folder.path().join("project"), folder.path().join("image"));
    fs::create_dir_all(&project).unwrap();
    fs::create_dir_all(&image).unwrap();
    let output = shell(&project, "kbr init --project-name captains");
    assert!(output.status.success(), "{}", stderr(&output, &project));

    let dockerfile = fs::read_to_string(project.join("Dockerfile")).unwrap();
    let (_, layer) = dockerfile
        .split_once("\n# Builds the dependencies ")
        .unwrap();
    let (layer, _) = layer.split_once("\n# Builds the operator.").unwrap();
    let (copies, stubs) = layer.split_once("\nRUN ").unwrap();
    for line in copies.lines().filter_map(|line| line.strip_prefix("COPY ")) {
        let (sources, to) = line.rsplit_once(' ').unwrap();
        for source in sources.split(' ') {
            let from = project.join(source);
            if from.is_dir() {
                copy(&from, &image.join(to));
            } else {
                let name = from.file_name().unwrap();
                write(&image.join(to).join(name), &fs::read(&from).unwrap());
            }
        }
    }
    for package in kbr_scaffold::library::packages() {
        let library = image.join("third_party").join(package).join("src/lib.rs");
        assert!(library.is_file(), "{}", library.display());
    }
    let cargo = env!("CARGO");
    let look = format!(
        "cargo() {{ '{cargo}' metadata --offline --no-deps --format-version 1; }}\n{stubs}"
    );
    let output = shell(&image, &look);
    assert!(output.status.success(), "{}", stderr(&output, &image));
    let seen = stdout(&output, &image);
    for target in ["captains", "captains-api", "captains-crdgen", "integration"] {
        assert!(
            seen.contains(&format!("\"name\":\"{target}\"")),
            "{target} is not in {seen}"
        );
    }
}
