//! `config/` of a generated project renders in every state, and is consistent.

#[path = "../kubebuilder/compare.rs"]
mod compare;
mod components;
mod consistent;
mod imported;
#[path = "../kubebuilder/known.rs"]
#[expect(
    dead_code,
    reason = "the comparison of kubebuilder's own projects uses all of it"
)]
mod known;
mod own_namespace;
mod policy;
mod project;

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use components::{check_components, check_webhooks};
use consistent::{check, named, text};
use project::{
    DEFAULT, create_api, create_conversion, create_webhooks, enable, init, init_with_names, render,
    write,
};

const COMPONENTS: [&str; 4] = [
    "prometheus",
    "network-policy",
    "namespaced",
    "high-availability",
];

#[test]
fn a_project_without_a_kind_renders() {
    let project = init();
    check(&render(&project, "config/default"), "captains-system");
}

#[test]
fn components_can_be_in_any_order() {
    let project = create_api(init());
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    for subset in subsets() {
        let mut first = None;
        // In both directions, so that each of any two components comes first once.
        let backwards = subset.iter().rev().copied().collect();
        for order in [subset, backwards] {
            enable(&project, &default, &order);
            let objects = render(&project, "config/default");
            check(&objects, "captains-system");
            check_components(&objects, &order);
            let texts: BTreeSet<_> = objects.iter().map(Value::to_string).collect();
            let first = first.get_or_insert_with(|| texts.clone());
            assert_eq!(first, &texts, "{order:?}");
        }
    }
}

#[test]
fn both_certificate_components_render_with_every_other_component() {
    let project = create_webhooks(create_api(init()));
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    let self_signed = "  - ../webhook-self-signed\n";
    assert!(default.contains(self_signed), "{default}");
    let default = default.replace(self_signed, "");
    for certificate in ["webhook-self-signed", "webhook-certmanager"] {
        for mut on in subsets() {
            on.push(certificate);
            // First, and last.
            for order in [on.clone(), on.iter().rev().copied().collect()] {
                enable(&project, &default, &order);
                let objects = render(&project, "config/default");
                check(&objects, "captains-system");
                check_components(&objects, &order);
                check_webhooks(&objects, certificate, "captains-system");
            }
        }
    }
}

#[test]
fn names_of_its_own_are_those_of_all_objects() {
    let project = create_webhooks(create_api(init_with_names()));
    let path = "config/webhook/manifests.yaml";
    let text = fs::read_to_string(project.path().join(path)).unwrap();
    let text = text.replace("captains-system", "deep");
    write(&project, path, &text.replace("captains-", "sea-"));
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    let self_signed = "  - ../webhook-self-signed\n";
    let default = default.replace(self_signed, "");
    for certificate in ["webhook-self-signed", "webhook-certmanager"] {
        enable(
            &project,
            &default,
            &[&COMPONENTS[..], &[certificate]].concat(),
        );
        let objects = render(&project, "config/default");
        check(&objects, "deep");
        for (kind, name) in [("Deployment", "kraken"), ("ServiceAccount", "squid")] {
            assert!(objects.iter().any(|it| named(it, kind, name)), "{name}");
        }
        let patched = objects.iter().find(|it| named(it, "Deployment", "kraken"));
        assert_eq!(patched.unwrap()["spec"]["replicas"], 2);
        let text = serde_json::to_string(&objects).unwrap();
        assert!(!text.contains("captains-"), "{text}");
        assert!(text.contains("[\"3f.tide.net\"]"), "{text}");
    }
}

#[test]
fn an_overlay_moves_webhooks_to_another_namespace() {
    let project = create_webhooks(create_api(init()));
    let overlay = "namespace: fleet\nresources: [../default]\n";
    write(&project, "config/fleet/kustomization.yaml", overlay);
    let objects = render(&project, "config/fleet");
    check(&objects, "fleet");
    check_webhooks(&objects, "webhook-self-signed", "fleet");
}

#[test]
fn the_overlay_in_the_docs_moves_the_namespace_for_cert_manager() {
    let project = create_conversion(create_webhooks(create_api(init())));
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    let default = default.replace("../webhook-self-signed", "../webhook-certmanager");
    write(&project, DEFAULT, &default);
    let overlay = documented("source: { kind: Certificate");
    write(&project, "config/fleet/kustomization.yaml", overlay);
    let objects = render(&project, "config/fleet");
    check(&objects, "fleet");
    check_webhooks(&objects, "webhook-certmanager", "fleet");
    let all = objects.iter().map(Value::to_string).collect::<String>();
    assert!(!all.contains("captains-system"), "{all}");
}

/// The only YAML block of the page on webhooks that contains `part`.
fn documented(part: &str) -> &'static str {
    let page = include_str!("../../docs/webhooks.md");
    let blocks = page.split("```yaml\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("```").unwrap().0);
    let found: Vec<_> = blocks.filter(|block| block.contains(part)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0]
}

#[test]
fn a_project_with_only_conversion_renders() {
    let project = create_conversion(create_api(init()));
    check(&render(&project, "config/default"), "captains-system");
    let overlay = "namespace: fleet\nresources: [../default]\n";
    write(&project, "config/fleet/kustomization.yaml", overlay);
    check(&render(&project, "config/fleet"), "fleet");
}

#[test]
fn an_overlay_moves_all_objects_to_another_namespace() {
    let project = create_api(init());
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    let overlay = "namespace: fleet\nresources: [../default]\n";
    write(&project, "config/fleet/kustomization.yaml", overlay);
    for subset in subsets() {
        enable(&project, &default, &subset);
        check(&render(&project, "config/fleet"), "fleet");
    }
}

#[test]
fn a_second_namespace_is_a_folder_and_two_lines() {
    let project = create_api(init());
    let default = fs::read_to_string(project.path().join(DEFAULT)).unwrap();
    enable(&project, &default, &["namespaced"]);
    let read = |path: &str| fs::read_to_string(project.path().join(path)).unwrap();

    let folder = read("config/namespaced/captains-system/kustomization.yaml");
    let folder = folder.replace("namespace: captains-system", "namespace: team-a");
    write(
        &project,
        "config/namespaced/team-a/kustomization.yaml",
        &folder,
    );
    let path = "config/namespaced/kustomization.yaml";
    let component = read(path)
        .replace("  - captains-system\n", "  - captains-system\n  - team-a\n")
        .replace("value: $(POD_NAMESPACE)", "value: $(POD_NAMESPACE),team-a");
    write(&project, path, &component);

    let objects = render(&project, "config/default");
    let roles: Vec<_> = objects
        .iter()
        .filter(|object| named(object, "Role", "captains-manager-role"))
        .map(|object| text(object, "/metadata/namespace"))
        .collect();
    assert_eq!(roles, ["captains-system", "team-a"]);
    for object in objects
        .iter()
        .filter(|object| text(object, "/kind") == "RoleBinding")
    {
        let subject = text(object, "/subjects/0/namespace");
        assert_eq!(subject, "captains-system", "{object}");
    }
}

#[test]
fn samples_render() {
    let project = create_api(init());
    let samples = render(&project, "config/samples");
    let [sample] = &samples[..] else {
        panic!("{samples:?}")
    };
    assert_eq!(text(sample, "/apiVersion"), "crew.example.com/v1");
    assert_eq!(text(sample, "/kind"), "Captain");
}

fn subsets() -> Vec<Vec<&'static str>> {
    let subset = |bits: usize| {
        let chosen = COMPONENTS
            .iter()
            .enumerate()
            .filter(move |(at, _)| bits >> at & 1 == 1);
        chosen.map(|(_, component)| *component).collect()
    };
    (0..1 << COMPONENTS.len()).map(subset).collect()
}
