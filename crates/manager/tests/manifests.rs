//! The manifest that is shipped and the one that is tested must not part.

/// The sections `[features]` and `[dependencies]` of a manifest, without comments.
fn sections(manifest: &str) -> Vec<&str> {
    let mut kept = false;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            kept = ["[features]", "[dependencies]"].contains(line);
        }
        kept && !line.is_empty() && !line.starts_with('#')
    });
    lines.collect()
}

#[test]
fn the_shipped_manifest_depends_on_what_is_tested() {
    let ours = include_str!("../Cargo.toml");
    let shipped = include_str!("../../../scaffolds/v1/init/manager/Cargo.toml.tera");
    assert!(sections(shipped).len() > 15);
    assert_eq!(sections(ours), sections(shipped));
    assert!(shipped.contains("[lib]\n") && shipped.contains("test = false\ndoctest = false\n"));
    assert!(!shipped.contains("dev-dependencies"));
    assert!(
        !shipped.contains("{{") && !shipped.contains("{%"),
        "no template syntax"
    );
}
