use std::time::Duration;

use k8s_openapi::api::apps::v1::DeploymentStatus;
use kbr_testing::{FakeApi, eventually, is_ready, reason, simulate};

use super::*;

const SOON: Duration = Duration::from_secs(60);

fn images() -> Arc<Images> {
    Arc::new(Images {
        allowed: vec!["a/".to_owned()],
        default: "a/default:v1".to_owned(),
    })
}

fn register(manager: &mut Manager) {
    super::register(manager, &images());
}

fn guestbook() -> Guestbook {
    let mut guestbook = Guestbook::default();
    guestbook.metadata.name = Some("sample".to_owned());
    guestbook.spec.replicas = 2;
    guestbook
}

fn sample(api: &FakeApi) -> Guestbook {
    api.get("default", "sample").expect("the Guestbook")
}

fn deployment(api: &FakeApi) -> Deployment {
    api.get("default", "sample").expect("the Deployment")
}

fn image(deployment: &Deployment) -> &str {
    let template = &deployment.spec.template;
    let container = &template.spec.as_ref().unwrap().containers[0];
    container.image.as_deref().unwrap()
}

fn checksum(api: &FakeApi) -> String {
    let template = deployment(api).spec.template;
    template.metadata.unwrap().annotations.unwrap()[children::CHECKSUM].clone()
}

/// Reports Pods, like the Deployment controller.
fn report(api: &FakeApi, [all, updated, available]: [i32; 3]) {
    let mut deployment = deployment(api);
    deployment.status = Some(DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: Some(all),
        updated_replicas: Some(updated),
        available_replicas: Some(available),
        ..DeploymentStatus::default()
    });
    api.put(&deployment);
}

#[tokio::test]
async fn a_guestbook_gets_a_deployment_a_service_and_a_config_map_that_it_owns() {
    let api = FakeApi::new();
    api.put(&guestbook());

    api.reconcile(register, "sample").await.unwrap();

    let config_map: ConfigMap = api.get("default", "sample").unwrap();
    let service: Service = api.get("default", "sample").unwrap();
    let deployment = deployment(&api);
    for meta in [
        &config_map.metadata,
        &service.metadata,
        &deployment.metadata,
    ] {
        assert_eq!(meta.owner_references.as_ref().unwrap()[0].kind, "Guestbook");
    }
    assert_eq!(config_map.data.unwrap()["GUESTBOOK_TITLE"], "Guestbook");
    assert_eq!(image(&deployment), "a/default:v1");
}

#[tokio::test]
async fn a_guestbook_is_ready_when_all_pods_are_up_to_date_and_available() {
    let api = FakeApi::new();
    api.put(&guestbook());
    api.reconcile(register, "sample").await.unwrap();
    for (pods, ready) in [
        ([1, 1, 1], false), // one is missing
        ([2, 1, 2], false), // one is old
        ([2, 2, 1], false), // one has not started
        ([3, 2, 2], false), // an old one has not gone
        ([2, 2, 2], true),
    ] {
        report(&api, pods);
        api.reconcile(register, "sample").await.unwrap();
        let status = sample(&api).status.unwrap();
        assert_eq!(is_ready(&status.conditions), ready, "{pods:?}");
        assert_eq!(status.replicas, pods[0]);
    }
}

#[tokio::test]
async fn the_status_has_the_selector_of_the_pods_for_the_scale_subresource() {
    let api = FakeApi::new();
    api.put(&guestbook());
    api.reconcile(register, "sample").await.unwrap();
    let template = deployment(&api).spec.template;
    let labels = template.metadata.unwrap().labels.unwrap();
    let selector = sample(&api).status.unwrap().selector;
    assert_eq!(selector.split(',').count(), labels.len());
    for (label, value) in labels {
        assert!(selector.contains(&format!("{label}={value}")), "{selector}");
    }
}

#[tokio::test]
async fn a_changed_title_changes_the_checksum_and_a_changed_port_does_not() {
    let api = FakeApi::new();
    api.put(&guestbook());
    api.reconcile(register, "sample").await.unwrap();
    let before = checksum(&api);

    let mut changed = sample(&api);
    changed.spec.port = 8080;
    api.put(&changed);
    api.reconcile(register, "sample").await.unwrap();
    assert_eq!(checksum(&api), before);

    changed.spec.title = "Visitors".to_owned();
    api.put(&changed);
    api.reconcile(register, "sample").await.unwrap();
    assert_ne!(checksum(&api), before);
}

/// An operator with a shorter list reports the image, and does not stop its Pods.
#[tokio::test]
async fn an_image_that_is_no_longer_allowed_is_reported_and_goes_on_running() {
    let api = FakeApi::new();
    let mut object = guestbook();
    object.spec.image = Some("b/old:v1".to_owned());
    api.put(&object);

    api.reconcile(register, "sample").await.unwrap();

    assert_eq!(image(&deployment(&api)), "b/old:v1");
    let conditions = sample(&api).status.unwrap().conditions;
    assert_eq!(reason(&conditions, "ImageAllowed"), Some("NotListed"));
}

/// Something, if the `ConfigMap` and the Service are as they should be.
fn complete(api: &FakeApi) -> Option<()> {
    api.get::<Service>("default", "sample")?;
    let settings: ConfigMap = api.get("default", "sample")?;
    (settings.data?.get("GUESTBOOK_TITLE")? == "Guestbook").then_some(())
}

#[tokio::test]
async fn children_that_were_changed_or_deleted_are_restored() {
    let api = FakeApi::new();
    let _run = api.run(register).unwrap();
    api.put(&guestbook());
    let restored = || async { Ok(complete(&api)) };
    eventually(SOON, "the children", restored).await.unwrap();

    let mut settings: ConfigMap = api.get("default", "sample").unwrap();
    settings.data = None;
    api.put(&settings);
    eventually(SOON, "the title", restored).await.unwrap();

    api.delete::<Service>("default", "sample");
    eventually(SOON, "the Service", restored).await.unwrap();
}

/// GBK-2: a Guestbook that is gone is not an error, and nothing is retried.
#[tokio::test]
async fn a_deleted_guestbook_is_not_reconciled() {
    let api = FakeApi::new();
    let mut run = api.run(register).unwrap();
    api.put(&guestbook());
    let created = || async { Ok(complete(&api)) };
    eventually(SOON, "the children", created).await.unwrap();

    api.delete::<Guestbook>("default", "sample");
    run.idle().await.unwrap();
    let before = api.requests().len();
    api.advance(Duration::from_secs(3600));
    run.idle().await.unwrap();
    assert_eq!(api.requests().len(), before);
    assert_eq!(api.all::<Deployment>(), []);
}

#[test]
fn a_guestbook_survives_faults() {
    simulate(register)
        .kubelet()
        .user("changes the port", |api| {
            api.edit::<Guestbook>("default", "guestbook-sample", |guestbook| {
                guestbook.spec.port = 8080
            });
        })
        .user("deletes the ConfigMap", |api| {
            api.delete::<ConfigMap>("default", "guestbook-sample");
        })
        .run();
}
