//! The webhooks of `Captain`, version `v1`.

use api::crew::v1::Captain;

use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager) {
    manager.defaulter::<Captain>(CaptainWebhook);
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
    async fn an_object_that_has_its_defaults_is_unchanged() {
        let mut request = review(None, Some(&sample()));
        let admitted = FakeApi::new().admit(register, &request).await;
        assert!(admitted.allowed, "{}", admitted.message);
        request["request"]["object"] = admitted.object;
        let again = FakeApi::new().admit(register, &request).await;
        assert_eq!(again.object, request["request"]["object"]);
    }

    // +kbr:scaffold:tests
}
