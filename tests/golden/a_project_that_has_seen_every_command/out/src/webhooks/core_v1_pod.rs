//! The webhooks of `Pod`, version `v1`.

use k8s_openapi::api::core::v1::Pod;

use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager) {
    manager.defaulter::<Pod>(PodWebhook);
    // +kbr:scaffold:register
}

struct PodWebhook;

// Sets defaults before an object is stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/mutate--v1-pod,mutating=true,failurePolicy=Fail,sideEffects=None,groups=core,resources=pods,verbs=create;update,versions=v1,name=mpod-v1.core.captains.example.com,admissionReviewVersions=v1,timeoutSeconds=5,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["captains-system"]}]}}`
impl webhook::Defaulter<Pod> for PodWebhook {
    async fn default(
        &self,
        object: &mut Pod,
        cx: &webhook::Request<Pod>,
    ) -> Result<(), webhook::Rejection> {
        // Set missing fields, for example `object.metadata.labels.get_or_insert_default();`
        let _ = (&object, cx); // until your code uses them
        Ok(())
    }
}

// +kbr:scaffold:webhooks

#[cfg(test)]
mod tests {
    use super::*;
    use kbr_testing::{FakeApi, review};

    fn sample() -> Pod {
        let mut object = Pod::default();
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
