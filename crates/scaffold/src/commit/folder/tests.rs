use std::os::unix::fs::symlink;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

/// A project with kbr's own folder, and a file outside of the project.
fn own() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    fs::create_dir(&root).unwrap();
    fs::create_dir(folder.path().join("victim")).unwrap();
    fs::write(folder.path().join("victim/file"), "mine").unwrap();
    create(&root).unwrap();
    (folder, root)
}

fn error(root: &Path) -> String {
    check(root).unwrap_err().to_string()
}

#[test]
fn what_kbr_made_here_is_its_own_until_nothing_is_left() {
    let (_folder, root) = own();
    assert!(!check(&root).unwrap());
    fs::write(root.join(COMMIT), "").unwrap();
    fs::create_dir(root.join(UPGRADE)).unwrap();
    fs::write(root.join(".kbr/upgrade/record"), "").unwrap();
    assert!(check(&root).unwrap());
    remove(&root);
    assert!(check(&root).unwrap(), "the mark stays");
    fs::remove_file(root.join(COMMIT)).unwrap();
    fs::remove_dir_all(root.join(UPGRADE)).unwrap();
    remove(&root);
    assert!(!root.join(FOLDER).exists());
    assert!(!check(&root).unwrap());
}

#[test]
fn a_moved_project_keeps_its_commit_and_a_copied_one_does_not() {
    let (folder, root) = own();
    fs::write(root.join(COMMIT), "").unwrap();
    let moved = folder.path().join("moved");
    fs::rename(&root, &moved).unwrap();
    assert!(check(&moved).unwrap());
    let mark = fs::read_dir(moved.join(FOLDER)).unwrap().flatten();
    let mark = mark.map(|it| it.file_name()).find(|it| it != "commit");
    let mark = mark.unwrap();
    fs::create_dir_all(root.join(FOLDER).join(mark)).unwrap();
    fs::write(root.join(COMMIT), "").unwrap();
    let error = error(&root);
    assert!(
        error.starts_with("`.kbr/commit` was not written by this kbr in this folder"),
        "{error}"
    );
}

#[test]
fn a_link_anywhere_in_the_folder_is_reported() {
    for path in FILES.iter().chain(&FOLDERS) {
        let (folder, root) = own();
        symlink(folder.path().join("victim"), root.join(path)).unwrap();
        let error = error(&root);
        assert!(error.starts_with(&format!("`{path}` is a link")), "{error}");
    }
    for path in FOLDERS {
        let (_folder, root) = own();
        fs::create_dir(root.join(path)).unwrap();
        symlink("../../../victim/file", root.join(path).join("0")).unwrap();
        let error = error(&root);
        assert!(
            error.starts_with(&format!("`{path}/0` is a link")),
            "{error}"
        );
    }
    let (folder, root) = own();
    fs::rename(root.join(FOLDER), folder.path().join("elsewhere")).unwrap();
    symlink("../elsewhere", root.join(FOLDER)).unwrap();
    assert!(error(&root).starts_with("`.kbr` is a link"));
}

#[test]
fn a_pipe_in_the_folder_is_reported() {
    let (_folder, root) = own();
    let pipe = root.join(COMMIT);
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(error(&root).starts_with("`.kbr/commit` is neither a file nor a folder"));
}

#[test]
fn what_kbr_does_not_use_is_ignored() {
    let (_folder, root) = own();
    symlink("/dev/zero", root.join(".kbr/notes")).unwrap();
    assert!(!check(&root).unwrap());
    remove(&root);
    assert!(root.join(".kbr/notes").is_symlink());
}
