//! A project whose objects have names of their own, because it replaces an operator that has them.

use std::fs;

use serde_json::json;

use crate::peer::{Rendered, kustomize, render};
use crate::{assert_equal, chart, kbr};

const NAMES: &str = "[names]\nprefix = \"sea\"\nnamespace = \"shop-system\"\ndeployment = \"kraken\"\nservice_account = \"squid\"\nlease = \"3f.tide.net\"\n";

#[test]
fn names_of_the_table_are_those_of_a_release_without_a_name_of_its_own() {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    let head = format!(
        "layout = \"v1\"\nkbr = \"{}\"\nname = \"shop\"\ndomain = \"example.com\"\nlicense = \"none\"\n",
        env!("CARGO_PKG_VERSION")
    );
    fs::write(root.join("PROJECT"), head + NAMES).unwrap();
    assert!(kbr(root, &["init", "--yes"]).status.success());
    let path = root.join("config/default/kustomization.yaml");
    let marker = "  # +kbr:scaffold:components\n";
    let all = "  - ../high-availability\n  - ../network-policy\n  - ../prometheus\n";
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(marker, all)).unwrap();
    chart(root);
    let rendered = render(
        &root.join("dist/chart"),
        &[json!({}), json!({ "fullnameOverride": "other" })],
    );
    let [Rendered::Objects(same), Rendered::Objects(other)] = &rendered[..] else {
        panic!("{rendered:?}")
    };
    let expected = crate::released(kustomize(root, "config/default"), "shop");
    assert_equal("names", same, &expected);
    let mut before = serde_json::to_string(&expected).unwrap();
    for (from, to) in [
        ("\"kraken\"", "\"other-controller-manager\""),
        ("\"squid\"", "\"other-controller-manager\""),
        ("\"3f.tide.net\"", "\"other.example.com\""),
        (
            "app.kubernetes.io/name\":\"shop\"",
            "app.kubernetes.io/name\":\"other\"",
        ),
        (
            "\"--leader-elect\",",
            "\"--leader-elect\",\"--leader-election-id=other.example.com\",",
        ),
        ("sea-", "other-"),
    ] {
        assert!(before.contains(from), "{from}");
        before = before.replace(from, to);
    }
    let renamed: Vec<_> = serde_json::from_str(&before).unwrap();
    assert_equal("renamed", other, &renamed);
}
