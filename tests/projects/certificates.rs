//! Redeployments after changes to webhooks, conversion, and the manager of the certificate.

use super::{place::place, support::repository};

/// The project's own operator injects the CA bundles, with the permissions of its deployment.
#[test]
fn a_project_can_be_redeployed_after_its_webhooks_change() {
    let place = place();
    let project = place.project("harbor");
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
    let operator = project.operator("harbor");
    project.cluster(&format!(
        "sh -e {} {}",
        script.display(),
        operator.display()
    ));
}
