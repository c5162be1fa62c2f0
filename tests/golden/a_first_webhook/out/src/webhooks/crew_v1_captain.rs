//! The webhooks of `Captain`, version `v1`.

use api::crew::v1::Captain;

use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager) {
    manager.defaulter::<Captain>(CaptainWebhook);
    manager.validator::<Captain>(CaptainWebhook);
    // +kbr:scaffold:register
}

struct CaptainWebhook;

// Sets defaults before an object is stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/mutate-crew-example-com-v1-captain,mutating=true,failurePolicy=Fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update,versions=v1,name=mcaptain-v1.crew.example.com,admissionReviewVersions=v1
impl webhook::Defaulter<Captain> for CaptainWebhook {
    async fn default(
        &self,
        object: &mut Captain, // as the user sent it
        cx: &webhook::Request<Captain>,
    ) -> Result<(), webhook::Rejection> {
        // Set missing fields, for example `object.spec.message.get_or_insert_default();`
        let generation = object.metadata.generation;
        tracing::debug!(name = cx.name(), generation, "nothing to default");
        Ok(())
    }
}

// Validates objects before they are stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/validate-crew-example-com-v1-captain,mutating=false,failurePolicy=Fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update;delete,versions=v1,name=vcaptain-v1.crew.example.com,admissionReviewVersions=v1
impl webhook::Validator<Captain> for CaptainWebhook {
    async fn validate_create(
        &self,
        object: &Captain, // with defaults set
        cx: &webhook::Request<Captain>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        check(object, cx.name())
    }

    async fn validate_update(
        &self,
        old: &Captain, // as stored
        new: &Captain, // with defaults set
        cx: &webhook::Request<Captain>,
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
        object: &Captain, // as stored
        cx: &webhook::Request<Captain>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        let generation = object.metadata.generation;
        tracing::debug!(name = cx.name(), generation, "may be deleted");
        Ok(webhook::Warnings::new())
    }
}

// Validates new and changed objects. Collect all errors, each with its field.
fn check(
    object: &Captain, // with defaults set
    name: &str,
) -> Result<webhook::Warnings, webhook::Rejection> {
    let mut errors = webhook::FieldErrors::default();
    // An example: the name must fit into a label value. Replace it with your own checks.
    if name.len() > 63 {
        errors.push(webhook::FieldError::too_long("metadata.name", 63));
    }
    let generation = object.metadata.generation;
    tracing::debug!(name, generation, "checked");
    errors.check()?;
    Ok(webhook::Warnings::new())
}

// +kbr:scaffold:webhooks

#[cfg(test)]
mod tests {
    use super::*;
    use kbr_testing::{FakeApi, review};

    fn sample() -> Captain {
        let mut object = Captain::default();
        object.metadata.name = Some("sample".to_owned());
        object
    }

    #[tokio::test]
    async fn an_object_without_missing_fields_is_unchanged() {
        let request = review(None, Some(&sample()));
        let admitted = FakeApi::new().admit(register, &request).await;
        assert!(admitted.allowed, "{}", admitted.message);
        assert_eq!(admitted.object, request["request"]["object"]);
    }

    #[tokio::test]
    async fn an_invalid_object_is_rejected_with_the_field() {
        let mut object = sample();
        object.metadata.name = Some("x".repeat(64));
        let request = review(Some(&sample()), Some(&object));
        let admitted = FakeApi::new().admit(register, &request).await;
        assert!(!admitted.allowed);
        assert_eq!(admitted.causes[0].0, "metadata.name");
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
