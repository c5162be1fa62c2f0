//! Reads the caches of a controller, or those of every replica.

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
    permission,
};

/// Reads the caches of a controller: of its own kind, and of the kinds that it `owns`, `watches` or `reads`. That
/// of [`Manager::reader`](crate::Manager::reader) reads the kinds of [`Manager::reads`](crate::Manager::reads).
///
/// A read sends no request and never waits. It returns objects as the watch last delivered them, or as a reconcile has
/// written them since; see [`Context::get`](crate::Context::get).
#[derive(Clone)]
pub struct Reader {
    owner: Owner,
    pub(crate) caches: Caches,
}

/// Whose caches a [`Reader`] reads.
#[derive(Clone, Debug)]
enum Owner {
    /// Its reconciles start once the caches have synced.
    Controller(Arc<str>),
    /// Its readers may come before the caches have synced.
    Manager,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

/// A [`Reader`] that does not keep the caches alive.
pub(crate) struct WeakReader {
    owner: Owner,
    caches: WeakCaches,
}

impl WeakReader {
    /// `None` once the controller has been dropped.
    pub(crate) fn upgrade(&self) -> Option<Reader> {
        Some(Reader {
            owner: self.owner.clone(),
            caches: self.caches.upgrade()?,
        })
    }
}

impl Reader {
    pub(crate) fn new(controller: &str) -> Self {
        Self {
            owner: Owner::Controller(controller.into()),
            caches: Caches::default(),
        }
    }

    /// A reader of the caches that every replica fills, of no kind yet.
    pub(crate) fn of_manager() -> Self {
        Self {
            owner: Owner::Manager,
            caches: Caches::default(),
        }
    }

    pub(crate) fn downgrade(&self) -> WeakReader {
        WeakReader {
            owner: self.owner.clone(),
            caches: self.caches.downgrade(),
        }
    }

    /// Waits until all objects of all its kinds have been listed once. It does not wait for a kind that cannot be listed
    /// or watched any more: reads then return what was there last.
    pub async fn synced(&self) {
        self.caches.complete().await;
    }

    /// The object with this key; `None` if it does not exist.
    ///
    /// # Errors
    /// When the controller or manager was not set up to read this kind; the error names the line to add. When the
    /// object exists but cannot be read as a `C`, so that it is not mistaken for deleted. For the same reason, a reader
    /// of the manager fails until all objects of the kind have been listed.
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

    /// Whether the API server serves `C`; see [`Kind::optional`](crate::Kind::optional).
    ///
    /// # Errors
    /// When the controller was registered without this kind; the error names the line to add.
    pub fn is_installed<C: Cached>(&self) -> anyhow::Result<bool> {
        let Some(metadata) = self.caches.find::<PartialObjectMeta<C>>() else {
            return Ok(!self.cache::<C>()?.is_absent());
        };
        // Each cache notices it by itself.
        let whole = self.caches.find::<C>();
        Ok(!metadata.is_absent() && !whole.is_some_and(|whole| whole.is_absent()))
    }

    fn cache<C: Cached>(&self) -> anyhow::Result<Arc<Cache<C>>> {
        let cache: Arc<Cache<C>> = self.caches.find().ok_or_else(|| self.undeclared::<C>())?;
        if matches!(self.owner, Owner::Manager) && !cache.progress.is_complete() {
            anyhow::bail!(
                "the cache of {} is not complete yet\n\
                 help: wait until it is, with `Reader::synced`",
                C::kind(&()),
            );
        }
        Ok(cache)
    }

    fn undeclared<C: Cached>(&self) -> anyhow::Error {
        let kind = C::kind(&());
        let (what, kind) = if C::metadata_api() {
            (
                format!("the metadata of {kind}"),
                format!("PartialObjectMeta<{kind}>"),
            )
        } else {
            (kind.to_string(), kind.to_string())
        };
        let half = if self.caches.find::<PartialObjectMeta<C>>().is_some() {
            ", of which it caches the metadata only, as `owns` does"
        } else {
            ", which it does not cache"
        };
        let (group, plural) = (C::group(&()), C::plural(&()));
        let comment = permission::comment(&group, &plural, "list;watch");
        let (owner, line) = match &self.owner {
            Owner::Controller(name) => (
                format!("controller `{name}`"),
                format!("`.reads(kind::<{kind}>())` where it is registered"),
            ),
            Owner::Manager => (
                "code outside of controllers".to_owned(),
                format!("`manager.reads(kind::<{kind}>())`"),
            ),
        };
        anyhow::anyhow!(
            "{owner} reads {what}{half}\n\
             help: add {line}, and above that\n    \
             {comment}",
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
    /// The same as [`Reader::get`], except that objects which cannot be read are left out.
    pub fn all(self) -> anyhow::Result<Vec<Arc<C>>> {
        Ok(self.find()?.into_iter().map(|(_, object)| object).collect())
    }

    /// The keys of the objects, sorted.
    ///
    /// # Errors
    /// The same as [`all`](Self::all).
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
