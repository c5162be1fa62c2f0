use super::*;
use kbr_scaffold::project::parse;

#[test]
fn a_source_is_a_git_ref_unless_it_is_a_path_or_the_cluster() {
    assert_eq!(Source::of("cluster"), Source::Cluster);
    for path in [".", "..", "./cluster", "../released", "/srv/crds"] {
        assert_eq!(Source::of(path), Source::Folder(path.into()));
    }
    for name in [
        "origin/main",
        "v1.2.0",
        "HEAD~3",
        "refs/heads/cluster",
        ".github",
    ] {
        assert_eq!(Source::of(name), Source::Git(name.to_owned()));
    }
}

#[test]
fn only_crds_of_the_project_are_compared() {
    let project =
        parse("layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"a\"\ndomain = \"example.com\"\n")
            .unwrap();
    let crd = |group: &str| json!({ "spec": { "group": group } });
    let now = [crd("other.io")];
    for (group, expected) in [
        ("crew.example.com", true),
        ("example.com", true),
        ("other.io", true),
        ("badexample.com", false),
        ("cert-manager.io", false),
    ] {
        assert_eq!(is_own(&project, &now, &crd(group)), expected, "{group}");
    }
}
