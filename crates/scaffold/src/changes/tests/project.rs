use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_table_is_appended_to_project_after_a_blank_line() {
    let api = record("[[api]]\nkind = 1\n");
    let check_added = |before, after| {
        check(
            &[("PROJECT", before)],
            std::slice::from_ref(&api),
            &[(Verb::Insert, "PROJECT", after)],
        );
    };
    check_added("# mine\nx = 1\n", "# mine\nx = 1\n\n[[api]]\nkind = 1\n");
    check_added("x = 1", "x = 1\n\n[[api]]\nkind = 1\n");
    check_added("x = 1\n\n", "x = 1\n\n[[api]]\nkind = 1\n");
    check_added("x = 1\r\n", "x = 1\r\n\r\n[[api]]\r\nkind = 1\r\n");
    check(
        &[],
        &[record("x = 1\n"), api.clone(), record("[[b]]\n")],
        &[(
            Verb::Create,
            "PROJECT",
            "x = 1\n\n[[api]]\nkind = 1\n\n[[b]]\n",
        )],
    );
}

#[test]
fn a_table_needs_an_existing_project_file_and_a_head_needs_none() {
    let no_project = "a conflict\n  `PROJECT` is missing: this folder is not a kbr project\n\
                      help: run `kbr init`, or change to the project's folder";
    check_rejected(&[], &[record("[[api]]\n")], no_project);
    check_rejected(&[("PROJECT", "\n")], &[record("[[api]]\n")], no_project);
    let root = project(&[("PROJECT", "x = 1\n")]);
    let error = conflicts_in(root.path(), &[record("name = 1\n")]);
    assert!(
        error.contains("`PROJECT` already exists: this folder is a kbr project"),
        "{error}"
    );
}

#[test]
fn a_broken_project_is_a_conflict() {
    let root = project(&[("PROJECT", "x = \n")]);
    assert!(
        conflicts_in(root.path(), &[record("[[api]]\n")])
            .contains("`PROJECT` would not be valid TOML:\n    TOML parse error at line 1")
    );
    fs::write(root.path().join("PROJECT"), b"x = 1 # \xff\n").unwrap();
    assert!(
        conflicts_in(root.path(), &[record("[[api]]\n")]).contains("`PROJECT` is not UTF-8 text")
    );
}

#[test]
fn a_project_file_that_is_a_folder_a_link_or_a_pipe_is_a_conflict() {
    let root = project(&[("PROJECT/a", ""), ("real", "x = 1\n")]);
    let path = root.path().join("PROJECT");
    assert!(conflicts_in(root.path(), &[record("[[api]]\n")]).contains("`PROJECT` is a folder"));
    fs::remove_dir_all(&path).unwrap();
    symlink("real", &path).unwrap();
    assert!(conflicts_in(root.path(), &[record("[[api]]\n")]).contains("`PROJECT` is a link"));
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    assert!(
        conflicts_in(root.path(), &[record("[[api]]\n")]).contains("`PROJECT` is a named pipe")
    );
}
