//! Runs the guide, and checks its statements about the operator that it creates.

use std::path::Path;

use super::{place::place, support::repository};

/// From an empty folder to a status that follows its Deployment.
#[test]
fn the_guide_works_as_written() {
    let place = place();
    let foo = place.separate("myk8soperator");
    let script = repository().join("demo/script");
    let guide = repository().join("docs/guide.md");
    let script = foo.run("awk", &["-f", text(&script), text(&guide)]);
    // kbr reports to stderr.
    let shown = foo.run("sh", &["-e", "-c", &format!("exec 2>&1\n{script}")]);
    for line in printed(&guide) {
        assert!(shown.contains(&line), "{line:?} is not in:\n{shown}");
    }
    for expected in [
        "foo.samplecontroller.c9g.io/foo-sample condition met",
        "deployment \"foo-sample\" successfully rolled out",
        "deployment.apps/foo-sample   3/3",
        "deployment.apps/foo-sample   5/5",
        "foo.samplecontroller.c9g.io \"foo-sample\" deleted",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in:\n{shown}");
    }
    foo.lint();
    foo.run("make", &["test-cluster"]);

    // The fields that the API server knows of a Foo, and objects that it rejects.
    foo.cluster(
        r#"
        schema() { kubectl get crd foos.samplecontroller.c9g.io -o jsonpath="{.spec.versions[0].schema.openAPIV3Schema.properties.$1}"; }
        test "$(schema spec.required)" = '["image","replicas"]'
        test "$(schema spec.properties.image.type)" = string
        test "$(schema spec.properties.replicas.type)/$(schema spec.properties.replicas.format)" = integer/int32
        test "$(schema status.properties.availableReplicas.type)" = integer
        foo=$(cat config/samples/samplecontroller_v1alpha1_foo.yaml)
        ! echo "$foo" | grep -v replicas | kubectl apply -f - 2>rejected
        grep 'spec.replicas: Required value' rejected
        "#,
    );

    // An existing object is reconciled at start, and the log shows the steps of the start in order.
    let shown = foo.cluster(&format!(
        r"
        kubectl apply -f config/samples/samplecontroller_v1alpha1_foo.yaml
        {} --log-format text --health-probe-bind-address 127.0.0.1:0 \
            --metrics-bind-address 127.0.0.1:0 --metrics-secure=false >operator.log 2>&1 &
        trap 'kill $!; wait; cat operator.log' EXIT
        kubectl wait --for=condition=Ready --timeout=60s foo/foo-sample
        ",
        foo.operator("myk8soperator").display()
    ));
    let at = |line: &str| {
        shown
            .find(line)
            .unwrap_or_else(|| panic!("`{line}` is not in:\n{shown}"))
    };
    let lines = [
        "serving metrics",
        "starting manager",
        "serving health probes",
        "starting event source",
        "starting controller",
        "starting workers",
    ];
    assert!(lines.map(at).is_sorted(), "{shown}");
}

/// What the guide says that the commands before the first file print, without what it leaves out.
fn printed(guide: &Path) -> Vec<String> {
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let (start, _) = guide.split_once("## Define the API").expect("a section");
    let blocks = start.split("```text\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    let lines: Vec<_> = lines
        .filter(|line| line.trim() != "…")
        .map(str::to_owned)
        .collect();
    assert!(lines.len() > 15, "{lines:?}");
    lines
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
