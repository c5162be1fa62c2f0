//! Tests of webhooks without an API server: sends them admission reviews, and applies their responses.

use apiserver_fake::Admitted;
use manager::{Manager, harness};
use serde_json::Value;

use super::{FakeApi, fake::conversions};

impl FakeApi {
    /// Sends an admission request to the webhooks that `register` registers, in the order of the API server: first to
    /// the defaulters, then, with their changes, to the validators. `review` is an `AdmissionReview` of
    /// `admission.k8s.io/v1`.
    ///
    /// # Panics
    /// If the kind of the review has no webhook, or the API server would not accept an answer.
    pub async fn admit(&self, register: impl FnOnce(&mut Manager), review: &Value) -> Admitted {
        let manager = self.registered(register);
        let _watches = harness::fill_caches(&manager);
        let mut review = review.clone();
        let mut admitted = Admitted::of(&review);
        let kind = &review["request"]["kind"];
        let paths = harness::admission_paths(&manager, kind);
        assert!(!paths.is_empty(), "no webhook is registered for {kind}");
        for path in paths {
            let answer = ask(&manager, path, &review).await;
            let taken = admitted.take(answer.expect("the path of a webhook"));
            taken.unwrap_or_else(|why| panic!("the patch of {path}: {why}"));
            if !admitted.allowed {
                break;
            }
            review["request"]["object"].clone_from(&admitted.object);
        }
        admitted
    }

    /// Sends an admission request to the webhook at this path alone, such as one that `Manager::admission_at` registers.
    ///
    /// # Panics
    /// If no webhook is registered at this path, or the API server would not accept its answer.
    pub async fn admit_at(
        &self,
        register: impl FnOnce(&mut Manager),
        path: &str,
        review: &Value,
    ) -> Admitted {
        let manager = self.registered(register);
        let answer = ask(&manager, path, review).await;
        let answer = answer.unwrap_or_else(|| panic!("no webhook is registered at {path}"));
        let mut admitted = Admitted::of(review);
        let taken = admitted.take(answer);
        taken.unwrap_or_else(|why| panic!("the patch of {path}: {why}"));
        admitted
    }

    /// Converts objects to another version, such as `crew.example.com/v2`, with the conversions that `register`
    /// registers, like the API server.
    ///
    /// # Errors
    /// The error that the API server would receive: either all objects are converted, or none.
    ///
    /// # Panics
    /// If no conversion is registered.
    #[expect(clippy::unused_async, reason = "published so, like the others here")]
    pub async fn convert(
        &self,
        register: impl FnOnce(&mut Manager),
        objects: &[Value],
        version: &str,
    ) -> anyhow::Result<Vec<Value>> {
        let manager = self.registered(register);
        let conversions = conversions(&manager).expect("a conversion is registered");
        let converted = conversions.convert(objects, version);
        converted.map_err(anyhow::Error::msg)
    }

    fn registered(&self, register: impl FnOnce(&mut Manager)) -> Manager {
        let mut manager = self.manager();
        register(&mut manager);
        let mistakes = harness::mistakes(&manager);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        manager
    }
}

/// The answer of the webhook at a path; `None` if no webhook is registered there.
async fn ask(manager: &Manager, path: &str, review: &Value) -> Option<Value> {
    let (status, body) = harness::answer(manager, path, review).await?;
    let mut answer: Value =
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status}: {body}"));
    assert_eq!(answer["kind"], review["kind"]);
    assert_eq!(answer["response"]["uid"], review["request"]["uid"]);
    Some(answer["response"].take())
}
