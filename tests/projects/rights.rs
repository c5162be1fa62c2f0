//! The operator's permissions in the cluster.

use std::fs;

use super::project::{Project, alone, build};

/// The permissions of `make deploy` suffice, in the whole cluster and in one namespace: the operator runs with its service account's token.
#[test]
fn the_operators_role_is_sufficient() {
    let _turn = alone();
    let project = Project::new("crew");
    project.kbr("init --domain example.com");
    project.create_api("--group crew --version v1 --kind Captain --resource --controller");
    project.create_api(
        "--group crew --version v1 --kind Ship --namespaced=false --resource --controller",
    );
    project.run("make", &["build"]);
    let operator = build().join("debug/crew");
    let as_deployed = format!(
        r#"
        make deploy IMG=registry.example.com/crew:v1
        cp "$KUBECONFIG" deployed.kubeconfig
        token=$(kubectl create token crew-controller-manager -n crew-system)
        kubectl --kubeconfig deployed.kubeconfig config set-credentials deployed --token="$token"
        kubectl --kubeconfig deployed.kubeconfig config set-context --current --user=deployed
        KUBECONFIG=deployed.kubeconfig POD_NAMESPACE=crew-system {} --leader-elect \
            --health-probe-bind-address 127.0.0.1:0 --metrics-bind-address 127.0.0.1:0 >operator.log 2>&1 &
        trap 'kill $!; cat operator.log' EXIT
        kubectl apply -n crew-system -f config/samples/crew_v1_captain.yaml
        kubectl wait -n crew-system --for=condition=Ready --timeout=60s captain/captain-sample
        kubectl get lease -n crew-system crew.example.com
        "#,
        operator.display()
    );
    let ship = "kubectl apply -f config/samples/crew_v1_ship.yaml
        kubectl wait --for=condition=Ready --timeout=60s ship/ship-sample";
    let log = project.cluster(&format!("{as_deployed}\n{ship}"));
    assert!(!log.contains("orbidden"), "nothing is forbidden: {log}");

    let default = project.0.join("config/default/kustomization.yaml");
    let text = fs::read_to_string(&default).expect("readable");
    let text = text.replace("components:\n", "components:\n  - ../namespaced\n");
    fs::write(&default, text).expect("writable");
    let confined = as_deployed.replace(
        "POD_NAMESPACE=",
        "WATCH_NAMESPACE=crew-system POD_NAMESPACE=",
    );
    project.cluster(&confined);
}
