//! Asks the API server who owns a token and what the owner may do, and caches the answers.
//!
//! It works like controller-runtime (`pkg/metrics/filters`, based on apiserver's delegating authenticator and
//! authorizer): the authentication of a token is cached for a minute, a rejection for 30 seconds, and a request may
//! take 10 seconds. There, a permission is cached for 5 minutes; here, no longer than the authentication of its token.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hyper::{Method, StatusCode};
use kube::Client;
use ring::{digest, hmac, rand::SystemRandom};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use crate::{error::chain, request};

/// How long the authentication of a token is cached, and how long a rejection is.
const TOKEN: Duration = Duration::from_secs(60);
const REFUSAL: Duration = Duration::from_secs(30);

/// How long an answer may take, including the wait for a free slot.
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum number of cached answers: a client may send any number of invented tokens.
const MOST: usize = 1000;

/// The maximum number of concurrent requests, for the same reason.
const AT_ONCE: usize = 10;

/// How often to log that the API server does not answer.
const COMPLAINT: Duration = Duration::from_secs(10);

/// The user who sent a request, as `UserInfo` of `authentication.k8s.io/v1` describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct User {
    /// The name, such as `system:serviceaccount:default:captains`.
    #[serde(default)]
    pub username: String,
    /// Distinguishes this user from earlier or later ones of the same name; may be empty.
    #[serde(default)]
    pub uid: String,
    /// The groups of the user.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Additional information from the authenticator.
    #[serde(default)]
    pub extra: BTreeMap<String, Vec<String>>,
}

/// A token, method and path, hashed with a secret key, so that no token is kept in memory.
type Question = [u8; digest::SHA256_OUTPUT_LEN];

/// The user, who may do it; or the status to respond with: 401 if the token is unknown, 403, or 500 if the API server does
/// not answer.
type Answer = Result<Arc<User>, StatusCode>;

/// Decides who may read which path.
pub(crate) struct Reviews {
    client: Client,
    key: hmac::Key,
    questions: Semaphore,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The cached answers, and when each expires.
    answers: HashMap<Question, (Answer, Instant)>,
    complained: Option<Instant>,
}

impl Reviews {
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn new(client: Client) -> anyhow::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        let key = key.map_err(|_| anyhow::anyhow!("the system has no random numbers"))?;
        Ok(Self {
            client,
            key,
            questions: Semaphore::new(AT_ONCE),
            state: Mutex::default(),
        })
    }

    /// The answer for the owner of the token.
    pub(crate) async fn ask(&self, token: &str, method: &Method, path: &str) -> Answer {
        let question = self.question(token, method, path);
        if let Some(answer) = self.known(&question) {
            return answer;
        }
        let answer = async {
            // The semaphore is never closed.
            let _turn = self.questions.acquire().await;
            // Another request may have asked meanwhile.
            if let Some(answer) = self.known(&question) {
                return Ok(answer);
            }
            let answer = review(&self.client, token, method, path).await?;
            self.remember(question, answer.clone());
            Ok::<_, kube::Error>(answer)
        };
        match timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => return answer,
            Ok(Err(error)) => self.complain(path, &chain(&error)),
            Err(_) => self.complain(path, "no answer in time"),
        }
        Err(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn question(&self, token: &str, method: &Method, path: &str) -> Question {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [method.as_str(), " ", path, " ", token] {
            context.update(part.as_bytes());
        }
        let mut question = Question::default();
        question.copy_from_slice(context.sign().as_ref());
        question
    }

    fn known(&self, question: &Question) -> Option<Answer> {
        let state = self.lock();
        let (answer, until) = state.answers.get(question)?;
        (Instant::now() < *until).then(|| answer.clone())
    }

    fn remember(&self, question: Question, answer: Answer) {
        let now = Instant::now();
        let holds = match answer {
            Err(StatusCode::FORBIDDEN) => REFUSAL,
            _ => TOKEN,
        };
        let answers = &mut self.lock().answers;
        if answers.len() >= MOST {
            answers.retain(|_, (_, until)| now < *until);
        }
        if answers.len() >= MOST {
            // Permissions are kept: an invented token never has any.
            answers.retain(|_, (answer, _)| answer.is_ok());
        }
        if answers.len() < MOST {
            answers.insert(question, (answer, now + holds));
        }
    }

    /// Logs why there is no answer, at limited intervals.
    fn complain(&self, path: &str, error: &str) {
        let now = Instant::now();
        let complained = &mut self.lock().complained;
        if complained.is_none_or(|at| now - at >= COMPLAINT) {
            *complained = Some(now);
            tracing::warn!(path, error, "cannot check access to an HTTP path");
        }
    }

    /// Code that holds the lock never panics, so a poisoned lock is ignored.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends both reviews to the API server.
async fn review(client: &Client, token: &str, method: &Method, path: &str) -> kube::Result<Answer> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token},
    });
    let at = "/apis/authentication.k8s.io/v1/tokenreviews";
    let who: Value = request::post(client, at, &review).await?;
    if who["status"]["authenticated"] != Value::Bool(true) {
        return Ok(Err(StatusCode::UNAUTHORIZED));
    }
    let user = User::deserialize(&who["status"]["user"]).map_err(kube::Error::SerdeError)?;
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "nonResourceAttributes": {"path": path, "verb": method.as_str().to_lowercase()},
            "user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra,
        },
    });
    let at = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let may: Value = request::post(client, at, &review).await?;
    let allowed = may["status"]["allowed"] == Value::Bool(true);
    Ok(if allowed {
        Ok(Arc::new(user))
    } else {
        Err(StatusCode::FORBIDDEN)
    })
}

#[cfg(test)]
mod tests {
    use kbr_testing::FakeApi;
    use tokio::time::advance;

    use super::*;

    fn reviews(api: &FakeApi) -> Reviews {
        Reviews::new(api.client()).unwrap()
    }

    async fn ask(reviews: &Reviews, token: &str) -> u16 {
        let answer = reviews.ask(token, &Method::GET, "/metrics").await;
        answer.unwrap_err().as_u16()
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_is_cached_for_a_minute() {
        let api = FakeApi::new();
        let reviews = reviews(&api);
        for (seconds, questions) in [(0, 1), (59, 1), (1, 2)] {
            advance(Duration::from_secs(seconds)).await;
            assert_eq!(ask(&reviews, "unknown").await, 401);
            assert_eq!(api.requests().len(), questions);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_token_method_and_path_is_reviewed_separately() {
        let api = FakeApi::new();
        let reviews = reviews(&api);
        for (token, method, path) in [
            ("a", Method::GET, "/metrics"),
            ("b", Method::GET, "/metrics"),
            ("a", Method::HEAD, "/metrics"),
            ("a", Method::GET, "/other"),
        ] {
            reviews.ask(token, &method, path).await.ok();
        }
        assert_eq!(api.requests().len(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_review_that_times_out_is_an_error_and_is_not_cached() {
        let api = FakeApi::new();
        let reviews = reviews(&api);
        api.cut_off(true);
        assert_eq!(ask(&reviews, "unknown").await, 500);
        api.cut_off(false);
        assert_eq!(ask(&reviews, "unknown").await, 401);
    }

    #[tokio::test(start_paused = true)]
    async fn invented_tokens_are_reviewed_ten_at_a_time() {
        let api = FakeApi::new();
        let reviews = reviews(&api);
        api.cut_off(true);
        let tokens: Vec<String> = (0..100).map(|token| token.to_string()).collect();
        let asked = tokens.iter().map(|token| ask(&reviews, token));
        let all = futures_util::future::join_all(asked);
        // None is answered, and those that wait give up when the first ones do.
        assert_eq!(all.await, [500; 100]);
        assert!(api.requests().len() <= 2 * AT_ONCE, "{:?}", api.requests());
    }

    #[tokio::test(start_paused = true)]
    async fn rejected_tokens_use_bounded_memory_and_evict_no_accepted_one() {
        let reviews = reviews(&FakeApi::new());
        let question = |number: usize| reviews.question(&number.to_string(), &Method::GET, "/");
        let user = Ok(Arc::new(User::default()));
        reviews.remember(question(0), user.clone());
        for number in 1..3 * MOST {
            reviews.remember(question(number), Err(StatusCode::UNAUTHORIZED));
        }
        assert!(reviews.lock().answers.len() <= MOST);
        assert_eq!(reviews.known(&question(0)), Some(user));
    }
}
