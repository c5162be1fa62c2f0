use super::*;
use crate::resource::Wanted;
use crate::resource::target::Target;

const HEAD: &str = r#"# A comment of the user's.
layout = "v1"
kbr = "0.1.0"
name = "captains"
domain = "example.com"
color = "blue"
"#;

fn load(text: &str) -> Result<Project, String> {
    parse(text).map_err(|error| error.to_string())
}

fn captain() -> Resource {
    Resource::new(&Wanted {
        group: "crew".to_owned(),
        domain: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "Captain".to_owned(),
        short_names: vec!["cap".to_owned()],
        namespaced: true,
        ..Wanted::default()
    })
    .unwrap()
}

fn text(op: Op) -> String {
    match op {
        Op::Record { text } => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_recorded_is_what_is_read() {
    let mut project = Project {
        layout: "v1".to_owned(),
        kbr: KBR.to_owned(),
        name: "captains".to_owned(),
        domain: "example.com".to_owned(),
        repo: "github.com/crew/captains".to_owned(),
        owner: "The \"Crew\"".to_owned(),
        license: "apache2".to_owned(),
        manager: Manager {
            version: KBR.to_owned(),
            sha256: "00".to_owned(),
        },
        apis: Vec::new(),
        controllers: Vec::new(),
        webhooks: Vec::new(),
    };
    let mut file = text(project.record().unwrap());
    assert_eq!(load(&file).unwrap(), project);
    let controller = Controller::new("captain".to_owned(), Target::own(&captain()));
    file += &text(record_api(&captain()).unwrap());
    file += &text(record_controller(&controller).unwrap());
    project.apis.push(captain());
    project.controllers.push(controller);
    assert_eq!(load(&file).unwrap(), project);
}

#[test]
fn a_table_holds_every_parameter() {
    let expected = r#"[[api]]
group = "crew"
full_group = "crew.example.com"
version = "v1"
kind = "Captain"
plural = "captains"
singular = "captain"
short_names = ["cap"]
namespaced = true
path = "api/src/crew/v1/captain.rs"
"#;
    assert_eq!(text(record_api(&captain()).unwrap()), expected);
    let controller = Controller::new("captain-backup".to_owned(), Target::own(&captain()));
    let expected = r#"[[controller]]
name = "captain-backup"
group = "crew"
full_group = "crew.example.com"
version = "v1"
kind = "Captain"
plural = "captains"
namespaced = true
type = "api::crew::v1::Captain"
external_crate = ""
path = "src/controllers/captain_backup.rs"
"#;
    assert_eq!(text(record_controller(&controller).unwrap()), expected);
}

#[test]
fn unknown_keys_and_tables_are_left_alone() {
    let project = load(&format!("{HEAD}[[plugin]]\nfield = 1\n")).unwrap();
    assert_eq!(project.manager_id(), "captains.example.com");
    assert_eq!(project.namespace(), "captains-system");
}

#[test]
fn a_project_of_a_newer_kbr_is_not_touched() {
    let error = load("layout = \"v2\"\nname = []\n").unwrap_err();
    assert!(
        error.starts_with("`PROJECT` is from a newer kbr: it has the layout `v2`"),
        "{error}"
    );
    let error = load(&HEAD.replace("0.1.0", "99.0.0")).unwrap_err();
    assert!(
        error.starts_with("`PROJECT` is from a newer kbr: it was written by kbr 99.0.0"),
        "{error}"
    );
    load(&HEAD.replace("0.1.0", "0.0.9")).unwrap();
}

#[test]
fn a_broken_project_is_shown_with_its_line() {
    let error = load(&HEAD.replace("name = ", "name ")).unwrap_err();
    assert!(
        error.starts_with("`PROJECT` is broken; nothing was written\n"),
        "{error}"
    );
    assert!(error.contains("line 4"), "{error}");
    assert!(error.contains("\nhelp: repair that line"), "{error}");
    let error = load(&HEAD.replace("name = \"captains\"\n", "")).unwrap_err();
    assert!(error.contains("missing field `name`"), "{error}");
    let error = load("domain: x\nlayout:\n- go.kubebuilder.io/v4\n").unwrap_err();
    assert!(error.starts_with("`PROJECT` is kubebuilder's"), "{error}");
}

#[test]
fn what_stands_in_for_project_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let error = || Project::load(root).unwrap_err().to_string();
    assert!(error().starts_with("not a kbr project"));
    assert!(
        find_root(root)
            .unwrap_err()
            .to_string()
            .contains("help: run `kbr init`")
    );
    fs::write(root.join("PROJECT"), " \n").unwrap();
    assert!(error().starts_with("`PROJECT` is empty"));
    assert_eq!(Project::load_if_any(root).unwrap(), None);
    fs::write(root.join("PROJECT"), [0xff]).unwrap();
    assert!(error().contains("not UTF-8"));
    fs::remove_file(root.join("PROJECT")).unwrap();
    fs::create_dir(root.join("PROJECT")).unwrap();
    assert!(error().contains("is a folder; nothing was written"));
    fs::remove_dir(root.join("PROJECT")).unwrap();
    std::os::unix::fs::symlink("elsewhere", root.join("PROJECT")).unwrap();
    assert!(error().contains("is a link; nothing was written"));
}

#[test]
fn the_root_is_the_nearest_folder_with_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let deep = root.join("api/src/crew");
    fs::create_dir_all(&deep).unwrap();
    fs::write(root.join("PROJECT"), HEAD).unwrap();
    assert_eq!(find_root(&deep).unwrap(), root);
    assert_eq!(find_root(root).unwrap(), root);
}

#[test]
fn a_repository_is_a_url() {
    for (repo, expected) in [
        (
            "github.com/caodailiang/myk8soperator",
            Some("https://github.com/caodailiang/myk8soperator"),
        ),
        (
            "git.tiduyun.com/tsi-controller",
            Some("https://git.tiduyun.com/tsi-controller"),
        ),
        ("git@github.com:a/b.git", Some("https://github.com/a/b")),
        ("https://example.com/a", Some("https://example.com/a")),
        ("ssh://git@example.com/a", Some("ssh://git@example.com/a")),
        ("myk8soperator", None),
        ("a/b", None),
        ("", None),
    ] {
        assert_eq!(repository(repo).as_deref(), expected, "{repo}");
    }
}

#[test]
fn the_hash_of_manager_depends_on_names_and_bytes_and_not_on_order() {
    let file = |path: &str, text: &str| Op::Create {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let hash = manager_hash(&[
        file("manager/a", "1"),
        file("manager/b", "2"),
        file("c", "3"),
    ]);
    assert_eq!(
        hash,
        manager_hash(&[file("manager/b", "2"), file("manager/a", "1")])
    );
    assert_ne!(
        hash,
        manager_hash(&[file("manager/a", "12"), file("manager/b", "")])
    );
    assert_eq!(hash.len(), 64);
}
