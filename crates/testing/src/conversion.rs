//! The conversions of an operator, which a fake API server asks for: within this process, and without TLS.

use std::{fmt, sync::Arc};

use manager::{Manager, harness::Hooks};
use serde_json::{Value, json};

use super::FakeApi;

/// All objects in another version, or why one of them cannot be converted.
type Converted = Result<Vec<Value>, String>;

type Convert = dyn Fn(&[Value], &str) -> Converted + Send + Sync;

/// The conversions that an operator has registered.
#[derive(Clone)]
pub(crate) struct Conversions(Arc<Convert>);

impl fmt::Debug for Conversions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Conversions")
    }
}

impl Conversions {
    /// Those of a manager, if it has any. They do not keep its API server.
    pub(crate) fn of(manager: &Manager) -> Option<Self> {
        let hooks = Hooks::converting(manager, FakeApi::new().client())?;
        Some(Self(Arc::new(move |objects, version| {
            let review = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
                "request": { "uid": "u", "desiredAPIVersion": version, "objects": objects },
            });
            read(
                &hooks
                    .convert(&review)
                    .ok_or("the conversion waits for something")?,
            )
        })))
    }

    /// Converts objects to a version, such as `crew.example.com/v2`.
    ///
    /// # Errors
    /// What the operator says: either all objects are converted, or none.
    pub(crate) fn convert(&self, objects: &[Value], version: &str) -> Converted {
        (self.0)(objects, version)
    }
}

impl FakeApi {
    /// From now on, objects are converted by this manager, if it converts any.
    pub(crate) fn convert_by(&self, manager: &Manager) {
        let conversions = Conversions::of(manager);
        self.change_quietly(|objects| objects.set_conversions(conversions));
    }
}

/// Reads the answer to a review.
fn read(answer: &str) -> Converted {
    let mut review: Value = serde_json::from_str(answer).map_err(|_| answer.to_owned())?;
    let response = &mut review["response"];
    if response["result"]["status"] != "Success" {
        let message = response["result"]["message"].as_str();
        return Err(message.unwrap_or("no reason is given").to_owned());
    }
    serde_json::from_value(response["convertedObjects"].take()).map_err(|error| error.to_string())
}
