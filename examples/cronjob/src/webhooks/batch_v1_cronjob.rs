//! The webhooks of `CronJob`, version `v1`.

use api::batch::v1::CronJob;

use crate::schedule::Schedule;

use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager) {
    manager.defaulter::<CronJob>(CronJobWebhook);
    manager.validator::<CronJob>(CronJobWebhook);
    // +kbr:scaffold:register
}

struct CronJobWebhook;

// Sets defaults before an object is stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/mutate-batch-tutorial-kubebuilder-io-v1-cronjob,mutating=true,failurePolicy=Fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update,versions=v1,name=mcronjob-v1.batch.tutorial.kubebuilder.io,admissionReviewVersions=v1
impl webhook::Defaulter<CronJob> for CronJobWebhook {
    async fn default(
        &self,
        object: &mut CronJob,
        _cx: &webhook::Request<CronJob>,
    ) -> Result<(), webhook::Rejection> {
        // The policy and `suspend` have defaults in the schema; these two depend on nothing but may be absent on purpose.
        object.spec.successful_jobs_history_limit.get_or_insert(3);
        object.spec.failed_jobs_history_limit.get_or_insert(1);
        Ok(())
    }
}

// Validates objects before they are stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/validate-batch-tutorial-kubebuilder-io-v1-cronjob,mutating=false,failurePolicy=Fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update;delete,versions=v1,name=vcronjob-v1.batch.tutorial.kubebuilder.io,admissionReviewVersions=v1
impl webhook::Validator<CronJob> for CronJobWebhook {
    async fn validate_create(
        &self,
        object: &CronJob,
        cx: &webhook::Request<CronJob>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        check(object, cx.name())
    }

    async fn validate_update(
        &self,
        old: &CronJob,
        new: &CronJob,
        cx: &webhook::Request<CronJob>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        // Compare immutable fields here. Admit objects that are being deleted, so that their
        // finalizers can be removed.
        if old.metadata.deletion_timestamp.is_some() {
            return Ok(webhook::Warnings::new());
        }
        check(new, cx.name())
    }

    async fn validate_delete(
        &self,
        _object: &CronJob,
        _cx: &webhook::Request<CronJob>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        Ok(webhook::Warnings::new())
    }
}

/// The longest name: a Job's name has eleven characters more, and must fit into a label of its Pods.
const LONGEST: usize = 63 - 11;

// Validates new and changed objects: what a schema cannot express.
fn check(object: &CronJob, name: &str) -> Result<webhook::Warnings, webhook::Rejection> {
    let mut errors = webhook::FieldErrors::default();
    if name.len() > LONGEST {
        errors.push(webhook::FieldError::too_long("metadata.name", LONGEST));
    }
    let schedule = &object.spec.schedule;
    if let Err(error) = Schedule::parse(schedule) {
        errors.push(webhook::FieldError::invalid(
            "spec.schedule",
            schedule,
            &error,
        ));
    }
    errors.check()?;
    Ok(webhook::Warnings::new())
}

// +kbr:scaffold:webhooks

#[cfg(test)]
mod tests {
    use super::*;
    use kbr_testing::{FakeApi, review};

    fn sample() -> CronJob {
        let mut object = CronJob::default();
        object.metadata.name = Some("sample".to_owned());
        object.spec.schedule = "*/5 * * * *".to_owned();
        object
    }

    #[tokio::test]
    async fn the_limits_of_the_history_have_defaults() {
        let mut object = sample();
        object.spec.failed_jobs_history_limit = Some(0);
        let request = review(None, Some(&object));
        let admitted = FakeApi::new().admit(register, &request).await;
        assert!(admitted.allowed, "{}", admitted.message);
        let spec = &admitted.object["spec"];
        assert_eq!(spec["successfulJobsHistoryLimit"], 3);
        assert_eq!(spec["failedJobsHistoryLimit"], 0);
    }

    #[tokio::test]
    async fn an_invalid_object_is_rejected_with_its_fields() {
        let mut object = sample();
        object.metadata.name = Some("x".repeat(53));
        object.spec.schedule = "every day".to_owned();
        let request = review(Some(&sample()), Some(&object));
        let admitted = FakeApi::new().admit(register, &request).await;
        assert!(!admitted.allowed);
        let fields: Vec<_> = admitted
            .causes
            .iter()
            .map(|cause| cause.0.as_str())
            .collect();
        assert_eq!(fields, ["metadata.name", "spec.schedule"]);
    }

    #[tokio::test]
    async fn a_valid_object_can_be_created_and_deleted() {
        let object = sample();
        for request in [review(None, Some(&object)), review(Some(&object), None)] {
            let admitted = FakeApi::new().admit(register, &request).await;
            assert!(admitted.allowed, "{}", admitted.message);
        }
    }

    // +kbr:scaffold:tests
}
