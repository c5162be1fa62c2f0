//! Reads the caches of a controller.

use std::{fmt, sync::Arc};

use kube::{
    api::PartialObjectMeta,
    core::{Expression, Selector},
};

use crate::{
    cache::{
        caches::{Caches, WeakCaches},
        index::IndexBy,
        object::Cached,
        state::Selection,
        store::Cache,
    },
    key::Key,
};

/// Reads the caches of a controller: of its own kind, and of the kinds that it `owns_cached`, `watches` or `reads`.
///
/// A read sends no request and never waits. It returns objects as the watch last delivered them, which may not include
/// a write of a moment ago.
#[derive(Clone)]
pub struct Reader {
    controller: Arc<str>,
    pub(crate) caches: Caches,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("controller", &self.controller)
            .finish_non_exhaustive()
    }
}

/// A [`Reader`] that does not keep the caches alive.
pub(crate) struct WeakReader {
    controller: Arc<str>,
    caches: WeakCaches,
}

impl WeakReader {
    /// `None` once the controller has been dropped.
    pub(crate) fn upgrade(&self) -> Option<Reader> {
        Some(Reader {
            controller: self.controller.clone(),
            caches: self.caches.upgrade()?,
        })
    }
}

impl Reader {
    pub(crate) fn new(controller: &str) -> Self {
        Self {
            controller: controller.into(),
            caches: Caches::default(),
        }
    }

    pub(crate) fn downgrade(&self) -> WeakReader {
        WeakReader {
            controller: self.controller.clone(),
            caches: self.caches.downgrade(),
        }
    }

    /// The object with this key; `None` if it does not exist.
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add. Also when the object
    /// exists but cannot be read as a `C`, so that it is not mistaken for deleted.
    pub fn get<C: Cached>(&self, key: impl Into<Key>) -> anyhow::Result<Option<Arc<C>>> {
        let (cache, key) = (self.cache::<C>()?, key.into());
        let found = cache.get(&key);
        if found.is_none()
            && let Some(object) = cache.unreadable(&key)
        {
            anyhow::bail!("{} `{key}` cannot be read: {}", C::kind(&()), object.reason);
        }
        Ok(found)
    }

    /// The objects of a kind, in all namespaces that the manager watches. Narrow the list down with its methods, and
    /// end it with [`all`](List::all) or [`keys`](List::keys). Objects that cannot be read as a `C` are left out.
    pub fn list<C: Cached>(&self) -> List<'_, C> {
        List {
            reader: self,
            namespace: None,
            labels: Selector::default(),
            index: None,
        }
    }

    /// Whether the API server serves `C`; see [`Controller::optional`](crate::Controller::optional).
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add.
    pub fn is_installed<C: Cached>(&self) -> anyhow::Result<bool> {
        if let Some(metadata) = self.caches.find::<PartialObjectMeta<C>>() {
            return Ok(!metadata.is_absent());
        }
        Ok(!self.cache::<C>()?.is_absent())
    }

    fn cache<C: Cached>(&self) -> anyhow::Result<Arc<Cache<C>>> {
        self.caches.find().ok_or_else(|| self.undeclared::<C>())
    }

    fn undeclared<C: Cached>(&self) -> anyhow::Error {
        let (name, kind) = (&self.controller, C::kind(&()));
        let (what, kind) = if C::metadata_api() {
            (
                format!("the metadata of {kind}"),
                format!("PartialObjectMeta<{kind}>"),
            )
        } else {
            (kind.to_string(), kind.to_string())
        };
        let half = if self.caches.find::<PartialObjectMeta<C>>().is_some() {
            " of which it caches the metadata only, as `owns` does"
        } else {
            " which it does not cache"
        };
        let (group, plural) = (C::group(&()), C::plural(&()));
        let group = if group.is_empty() {
            "core".into()
        } else {
            group
        };
        anyhow::anyhow!(
            "controller `{name}` reads {what},{half}\n\
             help: add `.reads::<{kind}>()` where it is registered, and above that\n    \
             // +kbr:rbac:groups={group},resources={plural},verbs=list;watch",
        )
    }
}

/// A selection of the objects of a kind, made by [`Reader::list`] or `Context::list`.
#[must_use = "end it with `.all()` or `.keys()`"]
pub struct List<'a, C> {
    reader: &'a Reader,
    namespace: Option<String>,
    labels: Selector,
    index: Option<(IndexBy<C>, String)>,
}

impl<C> fmt::Debug for List<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("List")
            .field("namespace", &self.namespace)
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}

impl<C: Cached> List<'_, C> {
    /// Selects the objects in this namespace.
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Selects the objects with this label. Called again, it selects those that have all the labels.
    pub fn with_label(self, label: &str, value: &str) -> Self {
        self.matching(Expression::Equal(label.to_owned(), value.to_owned()))
    }

    /// Selects the objects whose labels match: kube's [`Selector`], which can be made from a `LabelSelector`, or an
    /// [`Expression`].
    pub fn matching(mut self, labels: impl Into<Selector>) -> Self {
        self.labels.extend(labels.into());
        self
    }

    /// Selects the objects for which `values` returns this value. They are found by an index, so the time depends on
    /// how many match and not on how many exist.
    ///
    /// The index is built on first use, and kept. `values` must be a plain function that always returns the same values
    /// for the same object.
    pub fn by(mut self, values: IndexBy<C>, value: impl fmt::Display) -> Self {
        self.index = Some((values, value.to_string()));
        self
    }

    /// The objects, sorted by key.
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add.
    pub fn all(self) -> anyhow::Result<Vec<Arc<C>>> {
        Ok(self.find()?.into_iter().map(|(_, object)| object).collect())
    }

    /// The keys of the objects, sorted.
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add.
    pub fn keys(self) -> anyhow::Result<Vec<Key>> {
        Ok(self.find()?.into_iter().map(|(key, _)| key).collect())
    }

    fn find(self) -> anyhow::Result<Vec<(Key, Arc<C>)>> {
        let cache = self.reader.cache::<C>()?;
        Ok(cache.select(&Selection {
            namespace: self.namespace.as_deref(),
            labels: &self.labels,
            index: self
                .index
                .as_ref()
                .map(|(values, value)| (*values, &**value)),
        }))
    }
}
