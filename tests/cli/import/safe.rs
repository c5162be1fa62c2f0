//! What `kbr import` writes is safe to deploy: what it cannot know is a note.

use std::fs;

use tempfile::TempDir;

use super::{change, folder, has, import, import_whole as printed};
use crate::support;

pub fn write(folder: &TempDir, path: &str, text: &str) {
    let path = folder.path().join("captains").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn contains(printed: &str, texts: &[&str]) {
    for text in texts {
        assert!(printed.contains(text), "{text:?} is not in:\n{printed}");
    }
}

/// Whether the new project has any webhook.
fn serves(folder: &TempDir) -> bool {
    let new = folder.path().join("new");
    let project = fs::read_to_string(new.join("PROJECT")).unwrap();
    let default = fs::read_to_string(new.join("config/default/kustomization.yaml")).unwrap();
    let found = project.contains("[[webhook]]");
    assert_eq!(found, default.contains("\n  - ../webhook"), "{default}");
    found
}

const DEFAULT: &str = "config/default/kustomization.yaml";

#[test]
fn webhooks_that_the_project_in_go_does_not_deploy_are_notes() {
    let folder = folder();
    write(
        &folder,
        DEFAULT,
        "resources:\n- ../manager\n#- ../webhook\n",
    );
    let text = printed(&folder, &[]);
    let reason = "because `config/default` of the project in Go does not include `../webhook`";
    let file = "in `internal/webhook/v1/captain_webhook.go`";
    contains(
        &text,
        &[
            "2 controllers, 0 webhooks",
            &format!("webhooks {file}, {reason}"),
            "`/mutate-crew-example-com-v1-captain`, `/check`",
        ],
    );
    assert!(!text.contains("`Issuer`"), "{text}");
    assert!(!serves(&folder));
}

#[test]
fn webhooks_that_another_folder_includes_are_taken_over() {
    let folder = folder();
    write(&folder, DEFAULT, "resources: [../base/]\n");
    write(
        &folder,
        "config/base/kustomization.yaml",
        "bases: [../default, ./../../config/webhook]\n",
    );
    contains(&printed(&folder, &[]), &["2 controllers, 1 webhook\n"]);
    assert!(serves(&folder));
}

#[test]
fn no_webhook_is_deployed_beside_the_variable_that_switches_all_off() {
    let folder = folder();
    write(&folder, DEFAULT, "resources: [../manager, ../webhook]\n");
    let variable = "        - name: ENABLE_WEBHOOKS\n          value: \"false\"\n";
    let end = "          value: high\n";
    let manager = "config/manager/manager.yaml";
    change(&folder, manager, end, &format!("{end}{variable}"));
    let text = printed(&folder, &[]);
    contains(
        &text,
        &[
            "webhooks in `internal/webhook/v1/captain_webhook.go`, because `ENABLE_WEBHOOKS` is `false` in its Deployment, so that nothing answers it; create each with `kbr create webhook`: `/mutate-crew-example-com-v1-captain`, `/check`",
        ],
    );
    assert!(!serves(&folder));
    has(
        &folder,
        manager,
        &["- {\"name\":\"ENABLE_WEBHOOKS\",\"value\":\"false\"}\n"],
    );
}

#[test]
fn a_webhook_that_only_the_project_file_names_is_a_note() {
    let folder = folder();
    let pod = "resources:\n- core: true\n  group: core\n  kind: Pod\n  path: k8s.io/api/core/v1\n  version: v1\n  webhooks: {defaulting: true}\n";
    change(&folder, "PROJECT", "resources:\n", pod);
    let text = printed(&folder, &[]);
    contains(
        &text,
        &[
            "the defaulting webhook of `Pod` in `v1`, which `PROJECT` names, but no `+kubebuilder:webhook` comment defines",
        ],
    );
    let pods = folder.path().join("new/src/webhooks/core_v1_pod.rs");
    assert!(!pods.exists());
    assert!(serves(&folder));
}

/// Adds the version `v2` to the CRD.
pub fn second_version(folder: &TempDir) {
    let crd = "config/crd/bases/crew.example.com_captains.yaml";
    let path = folder.path().join("captains").join(crd);
    let text = fs::read_to_string(&path).unwrap();
    let versions = text.find("  - name: v1\n").unwrap();
    let other = text[versions..]
        .replace("name: v1\n", "name: v2\n")
        .replace("storage: true", "storage: false");
    fs::write(&path, format!("{text}{other}")).unwrap();
}

#[test]
fn a_webhook_has_the_version_of_its_comment_in_go() {
    let folder = folder();
    second_version(&folder);
    let webhooks = "internal/webhook/v1/captain_webhook.go";
    change(&folder, webhooks, "versions=v1", "versions=v2");
    contains(&printed(&folder, &[]), &["2 controllers, 1 webhook\n"]);
    has(
        &folder,
        "src/webhooks/crew_v2_captain.rs",
        &["path=/check,", "versions=v2"],
    );
    let old = folder.path().join("new/src/webhooks/crew_v1_captain.rs");
    assert!(!old.exists());
}

#[test]
fn permissions_that_only_controller_gen_accepts_are_allowed_in_a_comment_of_their_own() {
    let folder = folder();
    let main = "cmd/main.go";
    let known =
        "// +kubebuilder:rbac:groups=coordination.example.com,resources=berths,verbs=list\n";
    let more = [
        "groups=,resources=pods,verbs=get",
        "groups=crew.example.com,resources=captain,verbs=get",
        "groups=apps,resources=nosuch,verbs=fetch",
        "groups=apps,resources=deployments",
    ];
    let more = more.map(|it| format!("// +kubebuilder:rbac:{it}\n"));
    change(&folder, main, known, &format!("{known}{}", more.concat()));
    let text = printed(&folder, &[]);
    contains(
        &text,
        &[
            "note: `cmd/main.go`: `captain` is not a resource of group `crew.example.com`; the permission is taken over as it is, with `+kbr:lint:allow=unknown-resource`\n",
            "note: `cmd/main.go`: unknown verb `fetch`;",
            "note: not taken over: a permission. `cmd/main.go`: `verbs` is missing\n",
        ],
    );
    has(
        &folder,
        "src/main.rs",
        &[
            "// +kbr:rbac:groups=coordination.example.com,resources=berths,verbs=list\n\
           // +kbr:rbac:groups=core,resources=pods,verbs=get\n\n\
           // +kbr:lint:allow=unknown-resource;unknown-verb\n\
           // +kbr:rbac:groups=crew.example.com,resources=captain,verbs=get\n\
           // +kbr:rbac:groups=apps,resources=nosuch,verbs=fetch\n",
        ],
    );
    let main = fs::read_to_string(folder.path().join("new/src/main.rs")).unwrap();
    assert_eq!(kbr_manifests::permission("", &main, &[]).len(), 0);
}

#[test]
fn names_in_the_cluster_stay_those_of_the_operator_in_go() {
    let folder = folder();
    let default = "namespace: crew\nnamePrefix: sea-\nresources: [../manager, ../webhook]\n";
    write(&folder, DEFAULT, default);
    let text = printed(&folder, &["--project-name", "tides"]);
    assert!(!text.contains("so both would run"), "{text}");
    has(
        &folder,
        "PROJECT",
        &["[names]\nprefix = \"sea\"\nnamespace = \"crew\"\nlease = \"3f7a1c2e.example.com\"\n"],
    );
    has(
        &folder,
        "src/main.rs",
        &[
            "const LEASE: &str = \"3f7a1c2e.example.com\";",
            "const NAMES: &str = \"sea\";",
        ],
    );
    // Nothing that is deployed has a name of the project itself: only labels, images and metrics have.
    for (file, text) in support::tree(&folder.path().join("new/config")) {
        let text = String::from_utf8(text).unwrap();
        for line in text.lines().filter(|line| line.contains("tides")) {
            let is_plain = [
                "app.kubernetes.io/name",
                "#",
                "operator tides",
                " of tides",
                "- name: tides-",
                "tides in ",
            ];
            assert!(
                is_plain.iter().any(|it| line.contains(it)),
                "{file}: {line}"
            );
        }
    }
    fs::remove_dir_all(folder.path().join("new")).unwrap();
    // A name of which no object of ours can be made.
    write(
        &folder,
        DEFAULT,
        "namespace: \"123\"\nnamePrefix: sea-\nresources: [../manager, ../webhook]\n",
    );
    let text = printed(&folder, &[]);
    contains(
        &text,
        &[
            "the Deployment `sea-controller-manager` in `123`, and this one is `sea-controller-manager` in `captains-system`",
        ],
    );
}

#[test]
fn a_deployment_and_an_account_with_names_of_their_own_keep_them_beside_the_prefix() {
    let folder = folder();
    let manager = "config/manager/manager.yaml";
    let name = "  name: controller-manager\n";
    change(&folder, manager, name, "  name: kraken\n");
    let containers = "      containers:\n";
    let account = format!("      serviceAccountName: squid\n{containers}");
    change(&folder, manager, containers, &account);
    let account = "kind: ServiceAccount\nmetadata:\n  name: squid\n";
    write(&folder, "config/rbac/service_account.yaml", account);
    write(
        &folder,
        DEFAULT,
        "namespace: kube-system\nnamePrefix: sea-\nresources: [../manager, ../rbac/service_account.yaml, ../webhook]\n",
    );
    let text = printed(&folder, &[]);
    has(
        &folder,
        "PROJECT",
        &[
            "[names]\nprefix = \"sea\"\ndeployment = \"sea-kraken\"\nservice_account = \"sea-squid\"\nlease = \"3f7a1c2e.example.com\"\n",
        ],
    );
    // `config` restricts the Pods of its namespace, and undeploy deletes it.
    contains(
        &text,
        &[
            "the Deployment `sea-kraken` in `kube-system`, and this one is `sea-kraken` in `captains-system`",
        ],
    );
    fs::remove_dir_all(folder.path().join("new")).unwrap();
    // kustomize renames the references to an object only if it has that.
    let other = "kind: ServiceAccount\nmetadata:\n  labels:\n    app.kubernetes.io/name: squid\n  name: ray\n";
    write(&folder, "config/rbac/service_account.yaml", other);
    printed(&folder, &[]);
    has(&folder, "PROJECT", &["service_account = \"squid\"\n"]);
}

#[test]
fn an_unknown_deployment_is_a_note() {
    let folder = folder();
    let text = printed(&folder, &[]);
    contains(
        &text,
        &[
            "do not say which Deployment the operator in Go is, and this one is `captains-controller-manager` in `captains-system`",
            "`kubectl get deployments --all-namespaces`",
        ],
    );
}

#[test]
fn an_unknown_lease_is_the_first_note() {
    let folder = folder();
    let id = "\t\tLeaderElectionID: \"3f7a1c2e.example.com\",\n";
    change(&folder, "cmd/main.go", id, "\t\tLeaderElectionID: id(),\n");
    write(
        &folder,
        DEFAULT,
        "namespace: crew\nnamePrefix: sea-\nresources: [../manager, ../webhook]\n",
    );
    let text = printed(&folder, &[]);
    let (_, notes) = text.split_once("note: ").unwrap();
    contains(
        notes.split("\nnote: ").next().unwrap(),
        &[
            "both would lead: find its name with `kubectl -n crew get leases`",
            "`--leader-election-id NAME`",
        ],
    );
    fs::remove_dir_all(folder.path().join("new")).unwrap();
    let text = printed(&folder, &["--leader-election-id", "sea.example.com"]);
    assert!(!text.contains("both would lead"), "{text}");
    let lease = "const LEASE: &str = \"sea.example.com\";";
    has(&folder, "src/main.rs", &[lease]);
    let names = "resourceNames: [\"sea.example.com\"]";
    has(&folder, "config/rbac/leader_election_role.yaml", &[names]);
    let output = import(folder.path(), &["captains", "--leader-election-id", "A b"]);
    let text = support::stderr(&output, folder.path());
    contains(&text, &["a Lease has lower-case letters"]);
}

#[test]
fn the_new_operator_has_one_port_of_each_of_its_names() {
    let folder = folder();
    let manager = "config/manager/manager.yaml";
    let ports = "      - ports:\n        - {name: metrics, containerPort: 2222}\n        - {name: tide, containerPort: 2223}\n        command: [/manager]\n";
    change(&folder, manager, "      - command: [/manager]\n", ports);
    let text = printed(&folder, &[]);
    contains(&text, &["and `webhook` (9443): `metrics` (2222); change"]);
    let expected = "        ports:\n        - containerPort: 2223\n          name: tide\n";
    has(&folder, "config/manager/imported_patch.yaml", &[expected]);
}
