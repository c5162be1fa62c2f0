//! Reads the values of Secrets.

use k8s_openapi::api::core::v1::Secret;

use crate::key::Key;

/// Why a value of a Secret cannot be read. The message names the Secret and the key, and never the value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// The Secret does not have the key.
    #[error("the Secret `{secret}` has no key `{key}`")]
    #[non_exhaustive]
    NoKey {
        /// The namespace and the name of the Secret.
        secret: Key,
        /// The key in its `data`.
        key: String,
    },
    /// The value is not text.
    #[error("the value of `{key}` in the Secret `{secret}` is not UTF-8 text")]
    #[non_exhaustive]
    NotText {
        /// The namespace and the name of the Secret.
        secret: Key,
        /// The key in its `data`.
        key: String,
    },
}

/// The text of a Secret under `key`. Whitespace stays, such as the end of line of a file.
///
/// For bytes, read `secret.data`.
///
/// ```
/// # use std::sync::Arc;
/// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::Secret};
/// # use manager::{Action, Context, value_of, waiting};
/// async fn reconcile(_: Arc<Deployment>, cx: Context<Deployment>) -> anyhow::Result<Action> {
///     let Some(secret) = cx.get::<Secret>("harbor")? else {
///         return Err(waiting("SecretNotFound", "the Secret `harbor` does not exist"));
///     };
///     let password = value_of(&secret, "password")
///         .map_err(|error| waiting("SecretInvalid", error.to_string()))?;
/// #   drop(password);
///     Ok(Action::await_change())
/// }
/// ```
///
/// # Errors
/// If the Secret does not have the key, or its value is not UTF-8 text.
pub fn value_of(secret: &Secret, key: &str) -> Result<String, SecretError> {
    let name = || (Key::of(secret), key.to_owned());
    // Only a Secret that was not sent to an API server has it, such as one in a test. It goes before `data`.
    let text = secret.string_data.as_ref().and_then(|all| all.get(key));
    if let Some(text) = text {
        return Ok(text.clone());
    }
    let value = secret.data.as_ref().and_then(|all| all.get(key));
    let value = value.ok_or_else(|| {
        let (secret, key) = name();
        SecretError::NoKey { secret, key }
    })?;
    String::from_utf8(value.0.clone()).map_err(|_| {
        let (secret, key) = name();
        SecretError::NotText { secret, key }
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn secret() -> Secret {
        let mut secret = Secret::default();
        secret.metadata.namespace = Some("port".to_owned());
        secret.metadata.name = Some("harbor".to_owned());
        let data = [("user", &b"smee\n"[..]), ("blob", &[0xff, b's'])];
        let data = data.map(|(key, value)| (key.to_owned(), ByteString(value.to_vec())));
        secret.data = Some(data.into());
        secret
    }

    #[test]
    fn a_value_is_the_text_under_the_key() {
        let mut secret = secret();
        assert_eq!(value_of(&secret, "user").as_deref(), Ok("smee\n"));
        secret.string_data = Some([("user".to_owned(), "hook".to_owned())].into());
        assert_eq!(value_of(&secret, "user").as_deref(), Ok("hook"));
    }

    #[test]
    fn an_error_names_the_secret_and_the_key_but_not_the_value() {
        let said = |key: &str| value_of(&secret(), key).unwrap_err().to_string();
        let missing = "the Secret `port/harbor` has no key `password`";
        assert_eq!(said("password"), missing);
        let binary = "the value of `blob` in the Secret `port/harbor` is not UTF-8 text";
        assert_eq!(said("blob"), binary);
    }
}
