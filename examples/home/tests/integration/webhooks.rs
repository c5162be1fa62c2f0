//! Tests the webhooks, which the API server calls for both versions.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kbr_testing::Cluster;

use super::{OPERATOR, SAMPLES, V1, V2, error, field, patch};

const YESTERDAY: &str = r#"{"spec":{"awayUntil":"2020-01-01T00:00:00Z"}}"#;

#[tokio::test]
async fn a_new_home_of_either_version_belongs_to_its_creator() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    let user = "jsonpath={.status.userInfo.username}";
    let user = cluster.kubectl(&["auth", "whoami", "-o", user])?;
    for sample in SAMPLES {
        cluster.kubectl(&["create", "-f", sample])?;
    }
    assert_eq!(field(&cluster, V1, ".spec.owner")?, user);
    let owners = field(
        &cluster,
        "homes.v2.ajd.my.domain/lighthouse",
        ".spec.owners[*]",
    )?;
    assert_eq!(owners, user);
    cluster.close().await
}

#[tokio::test]
async fn a_time_in_the_past_is_rejected_in_either_version() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["create", "-f", SAMPLES[0]])?;
    for home in [V1, V2] {
        let error = error(patch(&cluster, home, YESTERDAY));
        assert!(error.contains("spec.awayUntil: Invalid value"), "{error}");
    }
    cluster.close().await
}

#[tokio::test]
async fn a_home_is_not_deleted_while_its_owners_are_away() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["create", "-f", SAMPLES[0]])?;
    let tomorrow = Timestamp::now() + Duration::from_secs(86_400);
    let away = format!(r#"{{"spec":{{"awayUntil":"{tomorrow}"}}}}"#);
    patch(&cluster, V2, &away)?;
    for home in [V1, V2] {
        let error = error(cluster.kubectl(&["delete", "--wait=false", home]));
        assert!(error.contains("spec.awayUntil: Forbidden"), "{error}");
    }
    patch(&cluster, V2, r#"{"spec":{"awayUntil":null}}"#)?;
    cluster.kubectl(&["delete", "--timeout=3m", V2])?;
    cluster.close().await
}

/// HOM-10: a fraction is a Quantity, which users write as a number or a text.
#[tokio::test]
async fn a_temperature_is_a_number_or_a_text_between_5_and_30() -> anyhow::Result<()> {
    let cluster = Cluster::connect().await?;
    let _operator = cluster.operator(OPERATOR)?;
    cluster.kubectl(&["create", "-f", SAMPLES[0]])?;
    let set = |degrees: &str| {
        let change = format!(r#"{{"spec":{{"temperature":{degrees}}}}}"#);
        patch(&cluster, V1, &change)
    };
    set("21")?;
    assert_eq!(field(&cluster, V2, ".spec.temperature")?, "21");
    set(r#""21.5""#)?;
    for degrees in ["4", "31", r#""4""#, r#""31""#, r#""warm""#, "20.5"] {
        let error = error(set(degrees));
        assert!(error.contains("spec.temperature"), "{error}");
    }
    cluster.close().await
}
