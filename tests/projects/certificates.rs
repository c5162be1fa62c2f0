//! Redeployments after changes to webhooks, conversion, and the manager of the certificate.

use super::{
    project::{Project, alone, build},
    support::repository,
};

/// The project's own operator injects the CA bundles, with the permissions of its deployment.
#[test]
fn a_project_can_be_redeployed_after_its_webhooks_change() {
    let _turn = alone();
    let project = Project::new("harbor");
    project.kbr("init --domain example.com");
    let create = |words: &str| project.create_api(&format!("--group crew {words} --resource"));
    create("--version v1 --kind Captain --controller");
    create("--version v2 --kind Captain --controller=false");
    create("--version v1 --kind Ship --controller=false");
    let captain = "create webhook --group crew --version v1 --kind Captain";
    project.kbr(&format!("{captain} --defaulting --validation"));
    project.kbr(&format!("{captain} --conversion --spoke v2"));
    project.run("make", &["build"]);

    let script = repository().join("tests/projects/certificates.sh");
    let operator = build().join("debug/harbor");
    project.cluster(&format!(
        "sh -e {} {}",
        script.display(),
        operator.display()
    ));
}
