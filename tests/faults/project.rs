//! A project to commit into, and its state on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

/// Path -> kind, mode and content of everything in a project except `.kbr`.
pub type Tree = BTreeMap<String, (char, u32, Vec<u8>)>;

/// A project in a temporary folder, which is removed with this value.
pub struct Project {
    _folder: tempfile::TempDir,
    pub root: PathBuf,
}

impl Project {
    /// A project after `init` and changes by the user.
    pub fn grown() -> Self {
        let project = Project::missing();
        let root = &project.root;
        for folder in ["src", "real"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("PROJECT"), "# mine\nname = \"x\"\n").unwrap();
        fs::write(
            root.join("src/main.rs"),
            "fn main() {\r\n    // +kbr:scaffold:m\r\n}",
        )
        .unwrap();
        fs::write(root.join("run.sh"), "#!/bin/sh\n# +kbr:scaffold:m\n").unwrap();
        fs::write(root.join("real/list.yaml"), "- a\n# +kbr:scaffold:m\n").unwrap();
        fs::write(root.join("notes"), b"mine \xff").unwrap();
        fs::write(root.join("real/old.yaml"), "gone: soon\n").unwrap();
        fs::create_dir_all(root.join("old/deep")).unwrap();
        fs::write(root.join("old/deep/a"), "gone\n").unwrap();
        fs::set_permissions(root.join("run.sh"), PermissionsExt::from_mode(0o750)).unwrap();
        symlink("real", root.join("config")).unwrap();
        project
    }

    /// A project after `kbr init`.
    pub fn initialized() -> Self {
        let project = Project::missing();
        let output = run(&project, &kbr_init(), "");
        assert!(output.status.success(), "{}", stderr(&output));
        project
    }

    /// A project after `kbr create api`.
    pub fn with_kind() -> Self {
        let project = Project::initialized();
        let output = run(&project, &kbr_create_api(), "");
        assert!(output.status.success(), "{}", stderr(&output));
        project
    }

    /// No folder yet, as for `init --directory`.
    pub fn missing() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("new/project");
        Project {
            _folder: folder,
            root,
        }
    }

    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        if self.root.exists() {
            walk(&self.root, &self.root, &mut tree);
        }
        tree
    }

    /// Whether a commit or its remains exist.
    pub fn has_commit(&self) -> bool {
        self.root.join(".kbr").exists()
    }

    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.root.join(path), text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).unwrap()
    }
}

fn walk(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        if name == ".kbr" {
        } else if metadata.is_symlink() {
            let to = fs::read_link(&path).unwrap();
            tree.insert(name, ('l', 0, to.into_os_string().into_encoded_bytes()));
        } else if metadata.is_dir() {
            tree.insert(name, ('d', 0, Vec::new()));
            walk(root, &path, tree);
        } else {
            tree.insert(name, ('f', mode, fs::read(&path).unwrap()));
        }
    }
}

/// New files in old and new folders, lines for old files (one of them through a link), an old file to remove through a link, one to
/// remove with its folders, a table.
pub fn create_api() -> Value {
    let insert = |path, lines| json!({"Lines": {"path": path, "marker": "m", "lines": lines}});
    json!([
        {"Whole": {"path": "src/controllers/captain.rs", "policy": "Owned", "text": "// captain\n"}},
        {"Whole": {"path": "api/src/crew/v1/captain.rs", "policy": "Owned", "text": "// type\n"}},
        {"Whole": {"path": "api/src/crew/mod.rs", "policy": "Once", "text": "// +kbr:scaffold:m\n"}},
        insert("src/main.rs", "register();\n"),
        insert("run.sh", "true\n"),
        insert("config/list.yaml", "- b\n"),
        insert("api/src/crew/mod.rs", "pub mod v1;\n"),
        {"remove": "config/old.yaml"},
        {"remove": "old/deep/a"},
        {"table": "[[api]]\nkind = \"Captain\"\n"},
    ])
}

/// The real command, for a missing folder.
pub fn kbr_init() -> Value {
    json!([
        "init",
        "--directory",
        "{root}",
        "--project-name",
        "x",
        "--yes"
    ])
}

/// The real command, in a project.
pub fn kbr_create_api() -> Value {
    json!([
        "create",
        "api",
        "--group",
        "crew",
        "--version",
        "v1",
        "--kind",
        "Captain",
        "--yes"
    ])
}

/// The real command, in a project with the kind.
pub fn kbr_delete_api() -> Value {
    json!([
        "delete",
        "api",
        "--group",
        "crew",
        "--version",
        "v1",
        "--kind",
        "Captain"
    ])
}

/// Some new files and folders, of different sizes.
pub fn init() -> Value {
    new_files(20)
}

/// Enough files for a kill to interrupt the commit.
pub fn large_init() -> Value {
    new_files(200)
}

fn new_files(count: usize) -> Value {
    let file = |at| json!({"Whole": {"path": format!("config/{}/{at}.yaml", at % 5), "policy": "Owned", "text": "a: b\n".repeat(at % 50 * 10)}});
    let mut ops: Vec<Value> = (0..count).map(file).collect();
    ops.push(json!({"head": "name = \"x\"\n"}));
    Value::Array(ops)
}

/// A command that changes nothing itself, but recovers an unfinished commit like every command that writes.
pub fn nothing() -> Value {
    json!([])
}

/// The command that applies `plan` to `root`, with `KBR_FAULT`: operations are for the driver, strings are kbr's own arguments.
pub fn command(root: &Path, plan: &Value, fault: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
    command.env("KBR_FAULT", fault);
    let args: Vec<&str> = plan
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if args.is_empty() {
        command.arg("faults-drive").arg(root);
    } else {
        let root_path = root.to_str().unwrap();
        command.args(args.into_iter().map(|arg| arg.replace("{root}", root_path)));
        command.current_dir(if root.exists() { root } else { Path::new("/") });
    }
    command
}

pub fn spawn(mut command: Command, plan: &Value) -> Child {
    let streams = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    // The pipe is closed if the child is killed before it reads.
    child
        .stdin
        .take()
        .unwrap()
        .write_all(plan.to_string().as_bytes())
        .ok();
    child
}

pub fn start(project: &Project, plan: &Value, fault: &str) -> Child {
    spawn(command(&project.root, plan, fault), plan)
}

pub fn run(project: &Project, plan: &Value, fault: &str) -> Output {
    start(project, plan, fault).wait_with_output().unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
