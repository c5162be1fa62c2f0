//! `CronJob`: Jobs that start by a schedule.

use k8s_openapi::{
    api::{batch::v1::JobTemplateSpec, core::v1::ObjectReference},
    apimachinery::pkg::apis::meta::v1 as meta,
};

/// The desired state of a `CronJob`.
#[derive(
    kube::CustomResource,
    kube::KubeSchema,
    Clone,
    Debug,
    Default,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
)]
#[kube(
    group = "batch.tutorial.kubebuilder.io",
    version = "v1",
    kind = "CronJob",
    plural = "cronjobs",
    singular = "cronjob",
    namespaced,
    status = "CronJobStatus",
    derive = "Default",
    derive = "PartialEq",
    doc = "A `CronJob`.",
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Suspend", type_ = "boolean", json_path = ".spec.suspend"),
    printcolumn(
        name = "Last Schedule",
        type_ = "date",
        json_path = ".status.lastScheduleTime"
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct CronJobSpec {
    /// When Jobs start, in the format of cron and in UTC: `*/5 * * * *`, `@daily`.
    #[schemars(length(min = 1))]
    pub schedule: String,

    /// How late a Job may start, in seconds. A Job that is later than that is skipped. Without it, every Job may start late.
    #[schemars(with = "i64", range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<i64>,

    /// What happens if the Job before still runs.
    #[serde(default)]
    pub concurrency_policy: ConcurrencyPolicy,

    /// Whether no Jobs start. It does not affect Jobs that run.
    #[serde(default)]
    pub suspend: bool,

    /// The Job that starts.
    pub job_template: JobTemplateSpec,

    /// The number of successful Jobs to keep.
    #[schemars(with = "i32", range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successful_jobs_history_limit: Option<i32>,

    /// The number of failed Jobs to keep.
    #[schemars(with = "i32", range(min = 0))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_jobs_history_limit: Option<i32>,
}

/// What happens if a Job is due while the one before still runs.
#[derive(
    schemars::JsonSchema,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    serde::Serialize,
    serde::Deserialize,
)]
pub enum ConcurrencyPolicy {
    /// Both run.
    #[default]
    Allow,
    /// The new one is skipped.
    Forbid,
    /// The new one replaces the one that runs.
    Replace,
}

/// The observed state of a `CronJob`.
#[derive(
    kube::KubeSchema, Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub struct CronJobStatus {
    /// The Jobs that run.
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<ObjectReference>,

    /// The time for which a Job was last scheduled.
    #[schemars(with = "meta::Time")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<meta::Time>,

    /// The generation of the object that this status describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The current conditions, by type. `Ready` summarizes the others.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
