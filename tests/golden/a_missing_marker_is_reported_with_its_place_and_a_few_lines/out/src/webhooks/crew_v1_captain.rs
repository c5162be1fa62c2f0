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
        object: &mut Captain,
        cx: &webhook::Request<Captain>,
    ) -> Result<(), webhook::Rejection> {
        // Set missing fields, for example `object.spec.message.get_or_insert_default();`
        let _ = (&object, cx); // until your code uses them
        Ok(())
    }
}

// Validates objects before they are stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/validate-crew-example-com-v1-captain,mutating=false,failurePolicy=Fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update;delete,versions=v1,name=vcaptain-v1.crew.example.com,admissionReviewVersions=v1
impl webhook::Validator<Captain> for CaptainWebhook {
    async fn validate_create(
        &self,
        object: &Captain,
        cx: &webhook::Request<Captain>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        check(object, cx.name())
    }

    async fn validate_update(
        &self,
        old: &Captain,
        new: &Captain,
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
        object: &Captain,
        cx: &webhook::Request<Captain>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        let _ = (object, cx); // until your code uses them
        Ok(webhook::Warnings::new())
    }
}

// Validates new and changed objects, with defaults set.
fn check(object: &Captain, name: &str) -> Result<webhook::Warnings, webhook::Rejection> {
    let mut errors = webhook::FieldErrors::default();
    // Collect all errors, each with its field, for example:
    //
    // if object.spec.message.as_deref() == Some("") {
    //     errors.push(webhook::FieldError::invalid("spec.message", "", "must not be empty"));
    // }
    let _ = (object, name, &mut errors); // until your code uses them
    errors.check()?;
    Ok(webhook::Warnings::new())
}


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
    async fn an_object_that_has_its_defaults_is_unchanged() {
        let mut request = review(None, Some(&sample()));
        let admitted = FakeApi::new().admit(register, &request).await;
        assert!(admitted.allowed, "{}", admitted.message);
        request["request"]["object"] = admitted.object;
        let again = FakeApi::new().admit(register, &request).await;
        assert_eq!(again.object, request["request"]["object"]);
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
