//! The webhooks of `HTTPRoute`, version `v1`.

use gateway_api::httproutes::HTTPRoute;

use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

/// Registers the webhooks in this file.
pub fn register(manager: &mut Manager) {
    manager.validator::<HTTPRoute>(HTTPRouteWebhook);
    // +kbr:scaffold:register
}

struct HTTPRouteWebhook;

// Validates objects before they are stored. `make manifests` generates the webhook configuration.
// +kbr:webhook:path=/validate-gateway-networking-k8s-io-v1-httproute,mutating=false,failurePolicy=Ignore,sideEffects=None,groups=gateway.networking.k8s.io,resources=httproutes,verbs=create;update;delete,versions=v1,name=vhttproute-v1.gateway.networking.k8s.io.captains.example.com,admissionReviewVersions=v1,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["captains-system"]}]}}`
impl webhook::Validator<HTTPRoute> for HTTPRouteWebhook {
    async fn validate_create(
        &self,
        object: &HTTPRoute,
        cx: &webhook::Request<HTTPRoute>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        check(object, cx.name())
    }

    async fn validate_update(
        &self,
        old: &HTTPRoute,
        new: &HTTPRoute,
        cx: &webhook::Request<HTTPRoute>,
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
        object: &HTTPRoute,
        cx: &webhook::Request<HTTPRoute>,
    ) -> Result<webhook::Warnings, webhook::Rejection> {
        let _ = (object, cx); // until your code uses them
        Ok(webhook::Warnings::new())
    }
}

// Validates new and changed objects, with defaults set.
fn check(object: &HTTPRoute, name: &str) -> Result<webhook::Warnings, webhook::Rejection> {
    let mut errors = webhook::FieldErrors::default();
    // Collect all errors, each with its field, for example:
    //
    // if object.metadata.labels.is_none() {
    //     errors.push(webhook::FieldError::required("metadata.labels", "set a team"));
    // }
    let _ = (object, name, &mut errors); // until your code uses them
    errors.check()?;
    Ok(webhook::Warnings::new())
}

// +kbr:scaffold:webhooks

#[cfg(test)]
mod tests {
    // +kbr:scaffold:tests
}
