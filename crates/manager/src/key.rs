//! The key of an object among the objects of its kind.

use std::{fmt, str::FromStr, sync::Arc};

use kube::Resource;

/// The namespace and name of an object, `namespace/name`, or `name` for a cluster-scoped kind.
///
/// It is one shared string, because each object's key is stored in several tables.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

impl Key {
    /// The key of `name` in `namespace`; for a cluster-scoped kind, `namespace` is `None` or empty.
    #[must_use]
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace.filter(|namespace| !namespace.is_empty()) {
            Some(namespace) => Self(format!("{namespace}/{name}").into()),
            None => Self(name.into()),
        }
    }

    /// The key of `object`.
    #[must_use]
    pub fn of<K: Resource>(object: &K) -> Self {
        let meta = object.meta();
        Self::new(
            meta.namespace.as_deref(),
            meta.name.as_deref().unwrap_or_default(),
        )
    }

    /// The namespace; `None` for a cluster-scoped kind.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.0.split_once('/').map(|(namespace, _)| namespace)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl From<&str> for Key {
    /// Parses `namespace/name` or `name`.
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<&String> for Key {
    /// Parses `namespace/name` or `name`.
    fn from(text: &String) -> Self {
        text.as_str().into()
    }
}

impl From<&Self> for Key {
    fn from(key: &Self) -> Self {
        key.clone()
    }
}

impl FromStr for Key {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_namespace_and_a_name() {
        let key = Key::new(Some("default"), "a");
        assert_eq!((key.namespace(), key.name()), (Some("default"), "a"));
        assert_eq!(key, Key::from("default/a"));
    }

    #[test]
    fn a_key_without_a_namespace_is_the_name() {
        for key in [Key::new(None, "a"), Key::new(Some(""), "a"), Key::from("a")] {
            assert_eq!((key.namespace(), key.name()), (None, "a"));
        }
    }
}
