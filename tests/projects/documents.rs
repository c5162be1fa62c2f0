//! The commands of tutorials by users, with `kbr` instead of `kubebuilder`; those with webhooks are in `webhooks.rs`.

use std::fs;

use super::project::{Project, alone};

const COLUMNS: &str = r#"    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(name = "NodeName", type_ = "string", json_path = ".spec.nodename"),
    printcolumn(name = "InnerIP", type_ = "string", json_path = ".spec.innerip")
)]"#;

#[test]
fn ippool_becomes_cluster_scoped_through_its_type() {
    let _turn = alone();
    let project = Project::new("tsi");
    project.kbr("init --domain tiduyun.com --repo git.tiduyun.com/tsi-controller");
    project.answer_yes("--group tsi --version v1alpha1 --kind IPPool");
    project.lint();
    project.replace("api/src/tsi/v1alpha1/ippool.rs", "    namespaced,\n", "");
    project.lint();
    project.test();
    project.cluster(
        "test $(kubectl get crd ippools.tsi.tiduyun.com -o jsonpath='{.spec.scope}') = Cluster",
    );
}

#[test]
fn ecsbinding_has_the_domain_as_group_a_plural_like_its_singular_and_its_columns() {
    let _turn = alone();
    let project = Project::new("ecs");
    project.kbr("init");
    project.run(
        "sh",
        &["-c", "kbr create api --domain hopegi.com --group '' --version v1 --kind EcsBinding --plural ecsbinding --short-name ecsb --namespaced=false --resource --controller"],
    );
    let types = "api/src/hopegi_com/v1/ecsbinding.rs";
    let source = fs::read_to_string(project.0.join(types)).expect("types");
    let (head, rest) = source.split_once("    printcolumn(").expect("columns");
    let (_, rest) = rest.split_once("\n)]").expect("the end of the attribute");
    let (fields, tail) = rest
        .split_once("    pub message: Option<String>,\n")
        .expect("a field");
    let (fields, _) = fields
        .split_once("    /// An example")
        .expect("its comment");
    let own = ["id", "name", "nodename", "innerip"].map(|name| {
        format!("    /// The {name}.\n    #[serde(default)]\n    pub {name}: String,\n")
    });
    let source = format!("{head}{COLUMNS}{fields}{}{tail}", own.join("\n"));
    fs::write(project.0.join(types), source).expect("writable");
    project.lint();
    let shown = project.cluster(
        "kubectl apply -f - <<END
apiVersion: hopegi.com/v1
kind: EcsBinding
metadata: { name: one }
spec: { id: i-1, nodename: node-1, innerip: 10.0.0.1 }
END
        kubectl get crd ecsbinding.hopegi.com
        kubectl get ecsb",
    );
    let header = shown
        .lines()
        .rev()
        .nth(1)
        .expect("a header")
        .split_whitespace();
    assert_eq!(
        header.collect::<Vec<_>>(),
        ["NAME", "AGE", "NODENAME", "INNERIP"],
        "{shown}"
    );
}

#[test]
fn at_has_a_group_with_hyphen_and_dots_and_a_time_as_text() {
    let _turn = alone();
    let project = Project::new("cnat");
    project.kbr("init");
    project.run(
        "sh",
        &["-c", "kbr create api --domain '' --group cnat.programming-kubernetes.info --version v1alpha1 --kind At --resource --controller"],
    );
    project.replace(
        "api/src/cnat_programming_kubernetes_info/v1alpha1/at.rs",
        "    pub message: Option<String>,\n",
        "    pub schedule: Option<String>,\n",
    );
    project.lint();
    let shown = project.cluster(
        "kubectl apply -f - <<END
apiVersion: cnat.programming-kubernetes.info/v1alpha1
kind: At
metadata: { name: example-at }
spec: { schedule: '2019-07-03T02:00:00Z' }
END
        kubectl get --raw /apis/cnat.programming-kubernetes.info/v1alpha1/namespaces/default/ats/example-at",
    );
    assert!(shown.contains("2019-07-03T02:00:00Z"), "{shown}");
}
