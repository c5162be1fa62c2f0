//! The webhooks of `Captain`, version `v1`.

use api::galley::v1::Captain;

use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

/// Tells the manager what this file serves.
pub fn register(manager: &mut Manager) {
    manager.defaulter::<Captain>(CaptainWebhook);
    manager.validator::<Captain>(CaptainWebhook);
    // +kbr:scaffold:register
}

struct CaptainWebhook;

// Called before an object is stored: `make manifests` turns this comment into its configuration.
// +kbr:webhook:path=/mutate-galley-example-com-v1-captain,mutating=true,failurePolicy=Fail,sideEffects=None,groups=galley.example.com,resources=captains,verbs=create;update,versions=v1,name=mcaptain-v1.galley.example.com,admissionReviewVersions=v1
impl webhook::Defaulter<Captain> for CaptainWebhook {
    async fn default(
        &self,
        object: &mut Captain, // as it was sent
        cx: &webhook::Request<Captain>,
    ) -> Result<(), webhook::Refusal> {
        // Set what your users may leave out, as in `object.spec.message.get_or_insert_default();`
        let generation = object.metadata.generation;
        tracing::debug!(name = cx.name(), generation, "nothing to default");
        Ok(())
    }
}

// Asked whether an object may be: `make manifests` turns this comment into its configuration.
// +kbr:webhook:path=/validate-galley-example-com-v1-captain,mutating=false,failurePolicy=Fail,sideEffects=None,groups=galley.example.com,resources=captains,verbs=create;update;delete,versions=v1,name=vcaptain-v1.galley.example.com,admissionReviewVersions=v1
impl webhook::Validator<Captain> for CaptainWebhook {
    async fn validate_create(
        &self,
        object: &Captain, // with its defaults
        cx: &webhook::Request<Captain>,
    ) -> Result<webhook::Warnings, webhook::Refusal> {
        check(object, cx.name())
    }

    async fn validate_update(
        &self,
        old: &Captain, // as it is stored
        new: &Captain, // as it is to be
        cx: &webhook::Request<Captain>,
    ) -> Result<webhook::Warnings, webhook::Refusal> {
        // Compare here what must not change. What is being deleted must get rid of its finalizers.
        if old.metadata.deletion_timestamp.is_some() {
            return Ok(webhook::Warnings::new());
        }
        check(new, cx.name())
    }

    async fn validate_delete(
        &self,
        object: &Captain, // as it is stored
        cx: &webhook::Request<Captain>,
    ) -> Result<webhook::Warnings, webhook::Refusal> {
        let generation = object.metadata.generation;
        tracing::debug!(name = cx.name(), generation, "may be deleted");
        Ok(webhook::Warnings::new())
    }
}

// What holds of every object, new or changed. Say everything at once: each error names its field.
fn check(
    object: &Captain, // with its defaults
    name: &str,
) -> Result<webhook::Warnings, webhook::Refusal> {
    let mut errors = webhook::FieldErrors::default();
    // An example, that the name can be the value of a label: put what must hold in its place.
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
    use manager::testing::{FakeApi, review};

    fn sample() -> Captain {
        let mut object = Captain::default();
        object.metadata.name = Some("sample".to_owned());
        object
    }

    #[tokio::test]
    async fn what_needs_no_defaults_stays_as_it_is() {
        let request = review(None, Some(&sample()));
        let admitted = FakeApi::new().admit(register, &request).await;
        assert!(admitted.allowed, "{}", admitted.message);
        assert_eq!(admitted.object, request["request"]["object"]);
    }

    #[tokio::test]
    async fn what_is_wrong_is_refused_and_its_fields_are_named() {
        let mut object = sample();
        object.metadata.name = Some("x".repeat(64));
        let request = review(Some(&sample()), Some(&object));
        let admitted = FakeApi::new().admit(register, &request).await;
        assert!(!admitted.allowed);
        assert_eq!(admitted.causes[0].0, "metadata.name");
    }

    #[tokio::test]
    async fn what_is_right_may_be_there_and_be_deleted() {
        let object = sample();
        for request in [review(None, Some(&object)), review(Some(&object), None)] {
            let admitted = FakeApi::new().admit(register, &request).await;
            assert!(admitted.allowed, "{}", admitted.message);
        }
    }

    // +kbr:scaffold:tests
}
