mod fuzz;

use super::*;
use crate::resource::ApiFlags;
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
    Resource::new(&ApiFlags {
        group: "crew".to_owned(),
        domain: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "Captain".to_owned(),
        short_names: vec!["cap".to_owned()],
        namespaced: true,
        ..ApiFlags::default()
    })
    .unwrap()
}

fn controller(name: &str) -> Table {
    Table::Controller(Controller::new(name.to_owned(), Target::own(&captain())))
}

#[test]
fn tables_are_read_back_in_the_order_of_the_file() {
    let head = Head {
        layout: "v1".to_owned(),
        kbr: KBR.to_owned(),
        name: "captains".to_owned(),
        domain: "example.com".to_owned(),
        repo: "github.com/crew/captains".to_owned(),
        owner: "The \"Crew\"".to_owned(),
        license: "apache2".to_owned(),
        library: Origin::default(),
        names: Given::default(),
    };
    let mut text = head.text().unwrap();
    let tables = vec![
        controller("first"),
        Table::Api(captain()),
        Table::Webhook(Webhook::new(Target::own(&captain()))),
        controller("second"),
    ];
    for table in &tables {
        text += &table.text().unwrap();
    }
    let mut expected = Project::new(head);
    expected.tables = tables;
    assert_eq!(load(&text).unwrap(), expected);
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
    assert_eq!(Table::Api(captain()).text().unwrap(), expected);
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
    assert_eq!(controller("captain-backup").text().unwrap(), expected);
}

#[test]
fn unknown_keys_and_tables_are_left_alone() {
    let unknown = "plugins = { version = \"0.1.0\", sha256 = \"00\" }\n";
    let project = load(&format!("{HEAD}{unknown}[[plugin]]\nfield = 1\n")).unwrap();
    assert_eq!(project.manager_id(), "captains.example.com");
    assert_eq!(project.head.names().namespace, "captains-system");
}

#[test]
fn an_upgrade_and_a_deletion_keep_the_names() {
    let api = Table::Api(captain()).text().unwrap();
    for names in [
        "[names]\nprefix = \"sea\" # as before\n",
        "names = { prefix = \"sea\" }\n",
    ] {
        let before = format!("{HEAD}{names}");
        let text = format!("{before}\n{api}");
        let upgraded = upgraded(&text, KBR).unwrap();
        assert_eq!(upgraded, with_release(&text, KBR).unwrap());
        assert!(upgraded.contains(names));
        assert_eq!(load(&upgraded).unwrap().head.names().prefix, "sea");
        assert_eq!(without(&text, &[None]).unwrap(), Some(before));
        let registry = with_library(&text, Origin::Registry).unwrap();
        assert_eq!(load(&registry).unwrap().head.names().prefix, "sea");
    }
}

#[test]
fn names_that_are_in_clusters_already_are_those_of_the_table() {
    let text = format!("{HEAD}[names]\nprefix = \"sea\"\nlease = \"3f.example.com\"\n");
    let project = load(&text).unwrap();
    let names = project.head.names();
    assert_eq!(names.deployment, "sea-controller-manager");
    assert_eq!(names.namespace, "captains-system");
    assert_eq!(names.lease, "3f.example.com");
    let again = parse(&project.head.text().unwrap()).unwrap();
    assert_eq!(again.head, project.head);
    let given = Given {
        namespace: Some("captains-system".to_owned()),
        ..project.head.names.clone()
    };
    assert_eq!(given.besides(&project.head), project.head.names);
    for wrong in [
        "prefix = \"Sea\"",
        "prefix = \"1\"",
        "namespace = \"null\"",
        "namespace = \"kube-system\"",
        "service_account = \"3\"",
        "deployment = \"a.b\"",
        "lease = \"a b\"",
        "leases = \"a\"",
    ] {
        let error = load(&format!("{HEAD}[names]\n{wrong}\n")).unwrap_err();
        assert!(error.contains("names"), "{wrong}: {error}");
    }
}

#[test]
fn a_project_of_a_newer_kbr_is_rejected() {
    let error = load("layout = \"v2\"\nname = []\n").unwrap_err();
    assert!(
        error.starts_with("`PROJECT` is from a newer kbr: it has the layout `v2`"),
        "{error}"
    );
    let error = load(&HEAD.replace("0.1.0", "99.0.0")).unwrap_err();
    assert!(
        error.starts_with("`PROJECT` is from a newer kbr: it says kbr 99.0.0"),
        "{error}"
    );
    load(&HEAD.replace("0.1.0", "0.0.9")).unwrap();
}

#[test]
fn an_invalid_project_is_reported_with_its_line() {
    let error = load(&HEAD.replace("name = ", "name ")).unwrap_err();
    assert!(error.starts_with("`PROJECT` is broken\n"), "{error}");
    assert!(error.contains("line 4"), "{error}");
    assert!(error.contains("\nhelp: repair that line"), "{error}");
    let error = load(&HEAD.replace("name = \"captains\"\n", "")).unwrap_err();
    assert!(error.contains("missing field `name`"), "{error}");
    let error = load("domain: x\nlayout:\n- go.kubebuilder.io/v4\n").unwrap_err();
    assert!(
        error.starts_with("`PROJECT` belongs to kubebuilder"),
        "{error}"
    );
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
