//! Tests the webhooks, which the API server calls.

use api::webapp::v1::{Guestbook, GuestbookSpec};
use kbr_testing::Cluster;
use kube::api::PostParams;

use super::{GUESTBOOK, OPERATOR, SAMPLE, error, patch, wait};

const OTHER_IMAGE: &str = r#"{"spec":{"image":"busybox:1"}}"#;

/// GBK-4, GBK-5: the API server calls the validator before it stores an object.
#[tokio::test]
async fn an_image_that_is_not_allowed_is_rejected_with_the_field() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    let error = error(patch(&cluster, GUESTBOOK, OTHER_IMAGE));
    let expected = r#"spec.image: Invalid value: "busybox:1": the allowed repositories are"#;
    assert!(error.contains(expected), "{error}");
    cluster.close().await
}

/// An object can be older than the webhook, or than the list: it goes on running, can be changed, and is reported.
#[tokio::test]
async fn a_guestbook_that_is_older_than_the_list_can_still_be_changed() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    patch(&cluster, GUESTBOOK, OTHER_IMAGE)?;
    let _operator = cluster.operator(OPERATOR)?;
    wait(&cluster, "condition=ImageAllowed=False", GUESTBOOK)?;

    patch(&cluster, GUESTBOOK, r#"{"spec":{"title":"Visitors"}}"#)?;
    let error = error(patch(
        &cluster,
        GUESTBOOK,
        r#"{"spec":{"image":"busybox:2"}}"#,
    ));
    assert!(error.contains("spec.image: Invalid value"), "{error}");

    // `null` removes the image, and the defaulter sets the operator's.
    patch(&cluster, GUESTBOOK, r#"{"spec":{"image":null}}"#)?;
    wait(&cluster, "condition=ImageAllowed", GUESTBOOK)?;
    cluster.close().await
}

/// GBK-6: deletions are intercepted.
#[tokio::test]
async fn a_protected_guestbook_cannot_be_deleted() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["apply", "-f", SAMPLE])?;
    patch(
        &cluster,
        GUESTBOOK,
        r#"{"spec":{"deletionProtection":true}}"#,
    )?;
    let error = error(cluster.kubectl(&["delete", "--wait=false", GUESTBOOK]));
    assert!(
        error.contains("spec.deletionProtection: Forbidden"),
        "{error}"
    );

    patch(
        &cluster,
        GUESTBOOK,
        r#"{"spec":{"deletionProtection":false}}"#,
    )?;
    cluster.kubectl(&["delete", "--timeout=3m", GUESTBOOK])?;
    cluster.close().await
}

/// What a schema can say holds with and without webhooks.
#[tokio::test]
async fn the_schema_rejects_names_that_no_service_can_have() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let guestbooks = cluster.api::<Guestbook>();
    let create = async |name: &str| {
        let guestbook = Guestbook::new(name, GuestbookSpec::default());
        let params = PostParams::default();
        guestbooks.create(&params, &guestbook).await
    };
    create(&"x".repeat(63)).await?;
    for name in ["visitors.2026", "2026", &"x".repeat(64)] {
        let error = create(name).await.expect_err("it is rejected");
        assert!(
            error.to_string().contains("the name of a Service"),
            "{error}"
        );
    }
    cluster.close().await
}
