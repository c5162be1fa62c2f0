//! Markers count only in comments.

#[path = "../support/mod.rs"]
mod support;

use std::path::Path;
use std::process::{Command, Output};

use support::{KBR, repository, write};
use tempfile::TempDir;

/// A Rust file with markers in every kind of text; its first lines describe which are real.
const TEXTS: &str = include_str!("texts.rs");

/// A project of one crate with the source `text`.
fn project(text: &str) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let files = [
        (
            "PROJECT",
            "layout = \"v1\"\nkbr = \"0.3.0\"\nname = \"texts\"\ndomain = \"example.com\"\n",
        ),
        (
            "Cargo.toml",
            "[package]\nname = \"texts\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        ),
        ("src/main.rs", text),
    ];
    for (path, text) in files {
        write(&root.path().join(path), text.as_bytes());
    }
    root
}

fn kbr(root: &Path, arguments: &[&str]) -> Output {
    Command::new(KBR)
        .args(arguments)
        .current_dir(root)
        .env("CARGO_NET_OFFLINE", "true")
        .output()
        .expect("kbr runs")
}

/// The error message.
fn error(root: &Path, arguments: &[&str]) -> String {
    let output = kbr(root, arguments);
    let printed = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{printed}");
    printed
}

#[test]
fn the_texts_compile_as_rust() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("rustc")
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "--emit=metadata",
            "--out-dir",
        ])
        .arg(folder.path())
        .arg(repository().join("tests/markers/texts.rs"))
        .output()
        .expect("rustc runs");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
}

#[test]
fn markers_in_strings_and_block_comments_are_ignored() {
    let root = project(TEXTS);
    let output = kbr(root.path(), &["manifests"]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let read = |path: &str| std::fs::read_to_string(root.path().join(path)).expect("a file");
    let named = |text: &str, start: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix(start));
        lines.map(str::to_owned).collect()
    };
    let groups = named(&read("config/rbac/role.yaml"), "- yes");
    assert_eq!(groups, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "91"]);
    assert!(!read("config/rbac/role.yaml").contains("- no\n"));
    let webhooks = read("config/webhook/manifests.yaml");
    assert_eq!(named(&webhooks, "url: "), ["https://example.com/real"]);
    assert_eq!(
        named(&webhooks, "kind: "),
        ["ValidatingWebhookConfiguration"]
    );
}

#[test]
fn a_marker_in_a_doc_comment_is_rejected_with_the_reason() {
    let markers = [
        "+kbr:rbac:groups=apps,resources=deployments,verbs=get",
        "+kubebuilder:rbac:groups=apps,resources=deployments,verbs=get",
        "+kbr:webhook:path=/x",
        "+kbr:webhookconfiguration:mutating=true,name=x",
        "+kbr:lint:allow=float",
    ];
    let forms = [
        ("/// MARKER\nfn main() {}\n", 1),
        ("//! MARKER\nfn main() {}\n", 1),
        ("/** MARKER */\nfn main() {}\n", 1),
        ("/*! MARKER */\nfn main() {}\n", 1),
        ("/**\n * words\n * MARKER\n */\nfn main() {}\n", 3),
        ("fn main() {\n    /// MARKER\n    let x = 1;\n}\n", 2),
    ];
    for marker in markers {
        for (form, line) in forms {
            let root = project(&form.replace("MARKER", marker));
            let printed = error(root.path(), &["manifests"]);
            let expected = format!(
                "`src/main.rs:{line}`: a marker in a doc comment would end up in rustdoc and in descriptions of CRDs\n    help: write `// {marker}`"
            );
            assert!(printed.contains(&expected), "{form}: {printed}");
        }
    }
}

const CREATE: [&str; 9] = [
    "create",
    "api",
    "--group",
    "crew",
    "--version",
    "v1",
    "--kind",
    "Captain",
    "--controller",
];

/// A new project in the folder `texts` with a changed `src/main.rs`.
fn scaffolded(change: impl Fn(&str) -> String) -> TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("texts");
    std::fs::create_dir(&folder).expect("a new folder");
    let output = kbr(&folder, &["init", "--domain", "example.com"]);
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let main = folder.join("src/main.rs");
    let text = std::fs::read_to_string(&main).expect("a file");
    write(&main, change(&text).as_bytes());
    root
}

#[test]
fn lines_go_above_the_marker_comment_and_not_into_strings() {
    // The file has only one real marker, in a function.
    let root = scaffolded(|main| {
        let main: String = main
            .split_inclusive('\n')
            .filter(|line| !line.contains("+kbr:scaffold:controllers"))
            .collect();
        // The text also contains the line that goes above the marker.
        let line = "controllers::captain::register(&mut manager);";
        format!("{TEXTS}{main}/*\n{line}\n*/\nconst LINE: &str = \"\n{line}\n\";\n")
    });
    let output = kbr(
        &root.path().join("texts"),
        &[&CREATE[..], &["--resource"]].concat(),
    );
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let after = std::fs::read_to_string(root.path().join("texts/src/main.rs")).expect("a file");
    let expected = "    br.len() == 1 && cr == slash
    controllers::captain::register(&mut manager);
    // +kbr:scaffold:controllers
";
    assert!(after.contains(expected), "{after}");
    assert_eq!(after.matches("captain::register").count(), 3, "{after}");
}

#[test]
fn a_scaffold_marker_that_is_not_a_comment_is_rejected_with_the_reason() {
    let real = "// +kbr:scaffold:controllers";
    let table = [
        (
            "/// +kbr:scaffold:controllers",
            "a doc comment, which is documentation",
        ),
        (
            "/** +kbr:scaffold:controllers */",
            "a doc comment, which is documentation",
        ),
        (
            "/*\n    // +kbr:scaffold:controllers\n    */",
            "a string or a block comment",
        ),
        (
            "let _ = \"\n    // +kbr:scaffold:controllers\n    \";",
            "a string or a block comment",
        ),
    ];
    for (text, why) in table {
        let root = scaffolded(|main| main.replace(real, text));
        let printed = error(
            &root.path().join("texts"),
            &[&CREATE[..], &["--resource"]].concat(),
        );
        let start = "`src/main.rs` has no marker `+kbr:scaffold:controllers`: the one in line ";
        assert!(
            printed.contains(start) && printed.contains(why),
            "{text}: {printed}"
        );
        assert!(printed.contains("nothing was written"), "{printed}");
    }
}
