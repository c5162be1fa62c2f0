//! Imports the projects in a folder as they are, and prints a row of a table for each: whether it is imported, its manifests are generated,
//! `config/default` renders, and what that deploys otherwise than in Go. A difference must be in `differences.txt` or in `IMPORT.md`.
//! With `KBR_MANIFESTS=0`, takes the manifests of an earlier run.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use serde_json::Value;

use crate::compare::{self, Names, Objects};
use crate::known::Known;

/// What `kbr manifests` generates.
const GENERATED: [&str; 5] = [
    "config/crd/bases",
    "config/rbac/role.yaml",
    "config/namespaced/role/role.yaml",
    "config/namespaced/cluster/role.yaml",
    "config/webhook/manifests.yaml",
];

/// Prints the table, and below it the differences of which nothing says why. Returns how many there are.
pub fn scan(projects: &[PathBuf], to: &Path, known: &Known) -> usize {
    println!(
        "| Project | imported | notes | manifests | renders | names | Lease | CRDs equal | differences | silent |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut silent = Vec::new();
    for go in projects {
        let name = go.file_name().expect("a name").to_string_lossy();
        let row = row(go, &to.join(&*name), known);
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.imported,
            row.notes,
            row.manifests,
            row.renders,
            row.names,
            row.lease,
            row.crds,
            row.differences,
            row.silent.len()
        );
        silent.extend(row.silent.iter().map(|it| format!("{name}: {it}")));
    }
    println!("\n{} silent differences", silent.len());
    for it in &silent {
        println!("{it}");
    }
    silent.len()
}

/// A row of the table; what was not tried is empty.
#[derive(Default)]
struct Row {
    imported: String,
    notes: usize,
    manifests: String,
    renders: String,
    names: String,
    lease: String,
    crds: String,
    differences: usize,
    silent: Vec<String>,
}

fn row(go: &Path, rust: &Path, known: &Known) -> Row {
    let mut row = Row::default();
    let kept = rust.with_extension("kept");
    keep(rust, &kept);
    let _ = fs::remove_dir_all(rust);
    let start = Instant::now();
    let mut kbr = Command::new("kbr");
    kbr.arg("import")
        .arg(go)
        .arg("--directory")
        .arg(rust)
        .arg("--yes");
    let output = kbr.output().expect("kbr");
    if !output.status.success() {
        row.imported = first_error(&output);
        return row;
    }
    row.imported = format!("{:.1} s", start.elapsed().as_secs_f64());
    let report = fs::read_to_string(rust.join("IMPORT.md")).unwrap_or_default();
    row.notes = report.matches("\n- [ ] ").count();
    if env::var_os("KBR_MANIFESTS").is_some_and(|it| it == "0") {
        keep(&kept, rust);
        "kept".clone_into(&mut row.manifests);
    } else {
        let mut kbr = Command::new("kbr");
        let output = kbr
            .arg("manifests")
            .current_dir(rust)
            .output()
            .expect("kbr");
        row.manifests = result(&output);
    }
    let (theirs, ours) = (render(go), render(rust));
    row.renders = match (&theirs, &ours) {
        (Ok(_), Ok(_)) => "ok".to_owned(),
        (Err(_), Ok(_)) => "only in Rust".to_owned(),
        (_, Err(error)) => error.clone(),
    };
    let (Ok(theirs), Ok(ours)) = (theirs, ours) else {
        return row;
    };
    match compared(&theirs, &ours, known, &report, &mut row) {
        Ok(()) => row,
        Err(error) => Row {
            renders: error,
            ..row
        },
    }
}

/// Copies what was generated from one project to another.
fn keep(from: &Path, to: &Path) {
    for path in GENERATED.iter().filter(|path| from.join(path).exists()) {
        let to = to.join(path);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        let mut cp = Command::new("cp");
        cp.arg("-rT").arg(from.join(path)).arg(to);
        assert!(cp.status().expect("cp").success());
    }
}

fn result(output: &Output) -> String {
    if output.status.success() {
        "ok".to_owned()
    } else {
        first_error(output)
    }
}

fn first_error(output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stderr);
    let error = printed.lines().find(|line| line.starts_with("error"));
    let error: String = error.unwrap_or("fails").chars().take(120).collect();
    error.replace('|', "/")
}

fn render(project: &Path) -> Result<String, String> {
    let mut kubectl = Command::new("kubectl");
    kubectl
        .args(["kustomize", "config/default"])
        .current_dir(project);
    let output = kubectl.output().expect("kubectl");
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(first_error(&output))
    }
}

fn compared(
    theirs: &str,
    ours: &str,
    known: &Known,
    report: &str,
    row: &mut Row,
) -> Result<(), String> {
    let (their_names, our_names) = (deployed(theirs), deployed(ours));
    // A text of both sides names the Deployment like this.
    let report = match &*their_names.1 {
        "" => report.to_owned(),
        name => format!("{report}\n{}", report.replace(name, "P-controller-manager")),
    };
    let same = their_names == our_names;
    row.names = String::from(if same { "ok" } else { "**no**" });
    let prefix = |name: &str| {
        name.strip_suffix("controller-manager")
            .unwrap_or(name)
            .to_owned()
    };
    let names = |(namespace, deployment): (String, String)| Names {
        prefix: prefix(&deployment),
        namespace,
        deployment,
    };
    let theirs = compare::objects(theirs, &names(their_names))?;
    let ours = compare::objects(ours, &names(our_names))?;
    row.lease = lease(&ours);
    let found = compare::differences(&theirs, &ours, known);
    let crds = theirs.keys();
    let crds = crds.filter(|it| it.starts_with("CustomResourceDefinition"));
    let changed = |crd: &&String| {
        let place = format!("{crd} /spec/");
        let mut all = found.iter().filter(|it| it.starts_with(&place));
        all.any(|it| !known.has(it))
    };
    let total = crds.clone().count();
    row.crds = format!("{} of {total}", total - crds.filter(changed).count());
    row.differences = found.len();
    row.silent = known.silent(found, &report);
    Ok(())
}

/// The namespace and the name of the operator's Deployment.
fn deployed(rendered: &str) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let documents = rendered.split("\n---\n");
    let documents = documents.filter(|it| it.contains("\nkind: Deployment\n"));
    let mut objects = documents.filter_map(|it| serde_saphyr::from_str::<Value>(it).ok());
    let metadata = objects.next().map(|it| it["metadata"].clone());
    let metadata = metadata.unwrap_or_default();
    (text(&metadata["namespace"]), text(&metadata["name"]))
}

/// The Lease that the role of the leader election names.
fn lease(ours: &Objects) -> String {
    let role = ours
        .iter()
        .find(|(key, _)| key.ends_with("leader-election-role"));
    let rules = role.and_then(|(_, role)| role["rules"].as_array());
    let rules = rules.into_iter().flatten();
    let names = rules
        .filter_map(|rule| rule["resourceNames"].as_array())
        .flatten();
    let names: Vec<_> = names.filter_map(Value::as_str).collect();
    names.join(" ")
}
