//! A generated operator on the older version of Kubernetes that kbr can build.

use super::{place::place, support::KBR};

#[test]
#[ignore = "`make test-release` runs it: it builds another version of Kubernetes"]
fn an_operator_passes_its_tests_on_the_older_version_of_kubernetes() {
    let place = place();
    let kubernetes = kbr_envtest::modules::versions().last().unwrap();
    let project = place.project("captains");
    project.kbr("init --domain example.com");
    project.create_api("--group crew --version v1 --kind Captain --resource --controller");
    project.create_api("--group crew --version v2 --kind Captain --resource --controller=false");
    let webhooks = "create webhook --group crew --kind Captain";
    project.kbr(&format!(
        "{webhooks} --version v1 --defaulting --validation"
    ));
    project.kbr(&format!("{webhooks} --version v2 --conversion"));
    project.create_api("--group apps --version v1 --kind Deployment --resource=false --controller");

    let build = ["envtest", "build", "--cluster", "--kubernetes", kubernetes];
    let assets = project.run(KBR, &build);
    let script = format!(
        "export KUBEBUILDER_ASSETS='{}'
        kbr envtest run -- kubectl get --raw /version | grep '\"gitVersion\": \"v{kubernetes}\"'
        make test test-cluster",
        assets.trim_end()
    );
    project.run("sh", &["-e", "-c", &script]);
}
