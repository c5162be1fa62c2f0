//! The webhooks of `HTTPRoute`, version `v1`.

use gateway_api::httproutes::HTTPRoute;

use manager::Manager;
use manager::webhook;
// +kbr:scaffold:imports

/// Tells the manager what this file serves.
pub fn register(manager: &mut Manager) {
    manager.validator::<HTTPRoute>(HTTPRouteWebhook);
    // +kbr:scaffold:register
}

struct HTTPRouteWebhook;

// Asked whether an object may be: `make manifests` turns this comment into its configuration.
// +kbr:webhook:path=/validate-gateway-networking-k8s-io-v1-httproute,mutating=false,failurePolicy=Ignore,sideEffects=None,groups=gateway.networking.k8s.io,resources=httproutes,verbs=create;update;delete,versions=v1,name=vhttproute-v1.gateway.networking.k8s.io.captains.example.com,admissionReviewVersions=v1,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"app.kubernetes.io/name","operator":"NotIn","values":["captains"]}]}}`
impl webhook::Validator<HTTPRoute> for HTTPRouteWebhook {
    async fn validate_create(
        &self,
        object: &HTTPRoute, // with its defaults
        cx: &webhook::Request<HTTPRoute>,
    ) -> Result<webhook::Warnings, webhook::Refusal> {
        check(object, cx.name())
    }

    async fn validate_update(
        &self,
        old: &HTTPRoute, // as it is stored
        new: &HTTPRoute, // as it is to be
        cx: &webhook::Request<HTTPRoute>,
    ) -> Result<webhook::Warnings, webhook::Refusal> {
        // Compare here what must not change. What is being deleted must get rid of its finalizers.
        if old.metadata.deletion_timestamp.is_some() {
            return Ok(webhook::Warnings::new());
        }
        check(new, cx.name())
    }

    async fn validate_delete(
        &self,
        object: &HTTPRoute, // as it is stored
        cx: &webhook::Request<HTTPRoute>,
    ) -> Result<webhook::Warnings, webhook::Refusal> {
        let generation = object.metadata.generation;
        tracing::debug!(name = cx.name(), generation, "may be deleted");
        Ok(webhook::Warnings::new())
    }
}

// What holds of every object, new or changed. Say everything at once: each error names its field.
fn check(
    object: &HTTPRoute, // with its defaults
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
    // +kbr:scaffold:tests
}
