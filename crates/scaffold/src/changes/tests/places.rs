use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::os::unix::net::UnixListener;

use super::*;

#[test]
fn a_socket_or_pipe_is_a_conflict() {
    let root = project(&[]);
    let _socket = UnixListener::bind(root.path().join("a")).unwrap();
    assert!(
        fs::metadata(root.path().join("a"))
            .unwrap()
            .file_type()
            .is_socket()
    );
    assert!(conflicts_in(root.path(), &[create("a", "")]).contains("`a` is a socket"));
    assert!(
        conflicts_in(root.path(), &[create("a/b", "")]).contains("`a/b` is a socket or inside one")
    );
}

#[test]
fn links_are_followed_inside_the_project_only() {
    let root = project(&[
        ("project/real/a.rs", MARKER),
        ("outside/a.rs", MARKER),
        ("project/.git/a.rs", MARKER),
    ]);
    let root = root.path().join("project");
    for (link, to) in [
        ("in", "real"),
        ("out", "../outside"),
        ("dead", "nowhere"),
        ("loop", "loop"),
        ("git", ".git"),
        ("up", "."),
    ] {
        symlink(to, root.join(link)).unwrap();
    }
    let changes = resolved(
        &root,
        &[insert("in/a.rs", "x"), create("in/new/b", "")],
        Run::First,
    )
    .unwrap();
    assert_eq!(
        changes
            .iter()
            .map(|it| (it.verb, it.path.as_str()))
            .collect::<Vec<_>>(),
        [(Verb::Insert, "in/a.rs"), (Verb::Create, "in/new/b")]
    );
    for link in ["out", "git"] {
        let error = conflicts_in(&root, &[insert(&format!("{link}/a.rs"), "x")]);
        assert!(
            error.contains(&format!("the link `{link}` leads out of the project")),
            "{error}"
        );
    }
    for link in ["dead", "loop"] {
        let error = conflicts_in(&root, &[create(link, "x")]);
        assert!(
            error.contains(&format!("the target of the link `{link}` does not exist")),
            "{error}"
        );
    }
    let error = conflicts_in(&root, &[insert("in/a.rs", "x"), insert("real/a.rs", "y")]);
    assert!(
        error.contains("`real/a.rs` is the same file as `in/a.rs`"),
        "{error}"
    );
}

#[test]
fn paths_stay_in_the_project() {
    for path in [
        "",
        "/a",
        "../a",
        "a/../b",
        "a//b",
        "./a",
        "a/",
        ".git/a",
        ".kbr/commit",
        // The same folders, on a file system that ignores case.
        ".GIT/a",
        ".Kbr/commit",
        "vendor/.Git/a",
    ] {
        let error = conflicts_in(project(&[]).path(), &[create(path, "")]);
        assert!(
            error.contains("is not the path of a project file"),
            "{path}: {error}"
        );
    }
}
