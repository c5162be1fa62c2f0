//! The webhooks of `Guestbook`, version `v1`: what the schema cannot say, because it depends on the operator's
//! configuration, or because it is about a deletion.

use std::sync::Arc;

use api::webapp::v1::Guestbook;

use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

use crate::images::Images;

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager, images: &Arc<Images>) {
    manager.defaulter::<Guestbook>(GuestbookWebhook(images.clone()));
    manager.validator::<Guestbook>(GuestbookWebhook(images.clone()));
    // +kbr:scaffold:register
}

struct GuestbookWebhook(Arc<Images>);

// Sets defaults before an object is stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/mutate-webapp-my-domain-v1-guestbook,mutating=true,failurePolicy=Fail,sideEffects=None,groups=webapp.my.domain,resources=guestbooks,verbs=create;update,versions=v1,name=mguestbook-v1.webapp.my.domain,admissionReviewVersions=v1
impl webhook::Defaulter<Guestbook> for GuestbookWebhook {
    /// Stores the default image in the object, so that an operator with another default does not change it.
    async fn default(
        &self,
        object: &mut Guestbook, // as the user sent it, with the defaults of the schema
        _cx: &webhook::Request<Guestbook>,
    ) -> Result<(), webhook::Rejection> {
        let image = &mut object.spec.image;
        image.get_or_insert_with(|| self.0.default.clone());
        Ok(())
    }
}

// Validates objects before they are stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/validate-webapp-my-domain-v1-guestbook,mutating=false,failurePolicy=Fail,sideEffects=None,groups=webapp.my.domain,resources=guestbooks,verbs=create;update;delete,versions=v1,name=vguestbook-v1.webapp.my.domain,admissionReviewVersions=v1
impl webhook::Validator<Guestbook> for GuestbookWebhook {
    async fn validate_create(
        &self,
        object: &Guestbook,
        _cx: &webhook::Request<Guestbook>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        if let Some(error) = self.not_allowed(object) {
            return Err(error.into());
        }
        Ok(webhook::Warnings::new())
    }

    async fn validate_update(
        &self,
        old: &Guestbook,
        new: &Guestbook,
        _cx: &webhook::Request<Guestbook>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        match self.not_allowed(new) {
            // A list that became shorter must not prevent other changes, such as the removal of a finalizer.
            Some(error) if old.spec.image == new.spec.image => Ok(vec![error.to_string()]),
            Some(error) => Err(error.into()),
            None => Ok(webhook::Warnings::new()),
        }
    }

    async fn validate_delete(
        &self,
        object: &Guestbook,
        _cx: &webhook::Request<Guestbook>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        if object.spec.deletion_protection {
            let detail = "set it to false to delete the Guestbook";
            let error = webhook::FieldError::forbidden("spec.deletionProtection", detail);
            return Err(error.into());
        }
        Ok(webhook::Warnings::new())
    }
}

impl GuestbookWebhook {
    /// The error in the image, if it is not on the operator's list.
    fn not_allowed(&self, object: &Guestbook) -> Option<webhook::FieldError> {
        let (images, image) = (&self.0, object.spec.image.as_deref()?);
        let detail = format!("the allowed repositories are {}", images.allowed.join(", "));
        let error = webhook::FieldError::invalid("spec.image", image, &detail);
        (!images.allow(image)).then_some(error)
    }
}

// +kbr:scaffold:webhooks

#[cfg(test)]
mod tests {
    use super::*;
    use kbr_testing::{Admitted, FakeApi, review};

    /// The answer of an operator that allows the images below this repository.
    async fn admit(allowed: &str, old: Option<&Guestbook>, new: Option<&Guestbook>) -> Admitted {
        let images = Arc::new(Images {
            allowed: vec![allowed.to_owned()],
            default: format!("{allowed}default:v1"),
        });
        let register = |manager: &mut Manager| register(manager, &images);
        FakeApi::new().admit(register, &review(old, new)).await
    }

    fn guestbook(image: Option<&str>) -> Guestbook {
        let mut object = Guestbook::default();
        object.metadata.name = Some("sample".to_owned());
        object.spec.image = image.map(str::to_owned);
        object
    }

    /// GBK-5: the defaulter runs first, so the validator sees an image.
    #[tokio::test]
    async fn a_guestbook_without_image_gets_the_operators() {
        let admitted = admit("a/", None, Some(&guestbook(None))).await;
        assert!(admitted.allowed, "{}", admitted.message);
        let expected = guestbook(Some("a/default:v1"));
        assert_eq!(admitted.object::<Guestbook>().spec, expected.spec);
    }

    #[tokio::test]
    async fn an_image_that_is_not_allowed_is_rejected_with_the_field() {
        for old in [None, Some(&guestbook(Some("a/b:v1")))] {
            let admitted = admit("a/", old, Some(&guestbook(Some("b/c:v1")))).await;
            assert!(!admitted.allowed);
            let message = r#"Invalid value: "b/c:v1": the allowed repositories are a/"#.to_owned();
            assert_eq!(admitted.causes, [("spec.image".to_owned(), message)]);
        }
    }

    #[tokio::test]
    async fn an_image_that_is_no_longer_allowed_may_stay_and_gives_a_warning() {
        let old = guestbook(Some("b/c:v1"));
        let mut new = old.clone();
        new.spec.replicas = 5;
        let admitted = admit("a/", Some(&old), Some(&new)).await;
        assert!(admitted.allowed, "{}", admitted.message);
        let [warning] = &admitted.warnings[..] else {
            panic!("{:?}", admitted.warnings);
        };
        assert!(warning.contains("spec.image: Invalid value"), "{warning}");

        let admitted = admit("a/", Some(&old), Some(&guestbook(Some("b/c:v2")))).await;
        assert!(!admitted.allowed);
    }

    /// GBK-6: deletions are intercepted.
    #[tokio::test]
    async fn a_protected_guestbook_cannot_be_deleted() {
        let mut object = guestbook(None);
        assert!(admit("a/", Some(&object), None).await.allowed);
        object.spec.deletion_protection = true;
        let admitted = admit("a/", Some(&object), None).await;
        assert!(!admitted.allowed);
        assert_eq!(admitted.causes[0].0, "spec.deletionProtection");
    }

    // +kbr:scaffold:tests
}
