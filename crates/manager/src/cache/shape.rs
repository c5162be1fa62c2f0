//! Which objects of a kind are cached, and what of them.

use std::{collections::BTreeMap, fmt, sync::Arc};

use kube::{
    api::{ListParams, WatchParams},
    core::{Selector, SelectorExt as _},
};

use crate::{
    cache::{
        lenient::{Lenient, Unreadable},
        object::{Cached, namespaced},
    },
    panics::{caught, dropped},
};

/// The number of objects in a page of a list, as in client-go.
const PAGE: u32 = 500;

/// The user's function that drops what no controller reads.
pub(super) type Transform<K> = Arc<dyn Fn(&mut K) + Send + Sync>;

/// The shape of a cache: without configuration, all whole objects of the namespaces that the manager watches.
pub(crate) struct Shape<K> {
    /// Whether `Manager::cache` has been called for this kind.
    pub(crate) configured: bool,
    pub(crate) labels: Selector,
    /// As the API server reads it; empty for all objects.
    pub(crate) fields: String,
    /// Instead of those of the manager.
    pub(crate) namespaces: Option<Vec<String>>,
    /// Instead of [`PAGE`].
    pub(crate) page_size: Option<u32>,
    pub(crate) transform: Option<Transform<K>>,
}

impl<K> Default for Shape<K> {
    fn default() -> Self {
        Self {
            configured: false,
            labels: Selector::default(),
            fields: String::new(),
            namespaces: None,
            page_size: None,
            transform: None,
        }
    }
}

impl<K> Clone for Shape<K> {
    fn clone(&self) -> Self {
        Self {
            configured: self.configured,
            labels: self.labels.clone(),
            fields: self.fields.clone(),
            namespaces: self.namespaces.clone(),
            page_size: self.page_size,
            transform: self.transform.clone(),
        }
    }
}

impl<K> fmt::Debug for Shape<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape")
            .field("labels", &self.labels)
            .field("fields", &self.fields)
            .field("namespaces", &self.namespaces)
            .finish_non_exhaustive()
    }
}

impl<K: Cached> Shape<K> {
    /// Whether labels keep objects out of the cache.
    pub(crate) fn has_labels(&self) -> bool {
        !self.labels.selects_all()
    }

    /// Whether fields keep objects out of the cache.
    pub(crate) fn has_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Whether objects with these labels are cached, as far as that depends on labels.
    pub(crate) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.labels.matches(labels)
    }

    /// Whether objects are cached only in part.
    pub(crate) fn transforms(&self) -> bool {
        self.transform.is_some()
    }

    /// The label selector, as the API server reads it.
    pub(crate) fn labels(&self) -> String {
        self.labels.to_string()
    }

    /// The kind as code names it, such as `PartialObjectMeta<Secret>`.
    pub(crate) fn written() -> String {
        let kind = K::kind(&());
        if K::metadata_api() {
            format!("PartialObjectMeta<{kind}>")
        } else {
            kind.into_owned()
        }
    }

    /// The mistake of configuring a cache that no controller uses.
    pub(super) fn unused() -> String {
        let (kind, name) = (K::kind(&()), Self::written());
        let help = if K::metadata_api() {
            format!(
                "add `.owns(metadata::<{kind}>())`; whole objects are configured by `cache::<{kind}>()`"
            )
        } else {
            format!(
                "add `.reads(kind::<{kind}>())`; what `metadata::<{kind}>()` caches is configured by \
                 `cache::<PartialObjectMeta<{kind}>>()`"
            )
        };
        format!(
            "`manager.cache::<{name}>()` has no effect: no controller uses this cache\nhelp: {help}"
        )
    }

    /// The scopes to watch: each namespace, or `None` for all. `namespaces` are those of the manager, empty for all.
    pub(super) fn scopes(&self, namespaces: &[String]) -> Vec<Option<String>> {
        let namespaces = self.namespaces.as_deref().unwrap_or(namespaces);
        if namespaces.is_empty() || !namespaced::<K>() {
            return vec![None];
        }
        namespaces.iter().cloned().map(Some).collect()
    }

    /// Whether the objects of this namespace are watched; `None` stands for those of a cluster-scoped kind. `namespaces`
    /// are those of the manager, sorted, empty for all.
    pub(crate) fn watches(&self, namespace: Option<&str>, namespaces: &[String]) -> bool {
        let namespaces = self.namespaces.as_deref().unwrap_or(namespaces);
        if namespaces.is_empty() || !namespaced::<K>() {
            return true;
        }
        let found = |here: &str| namespaces.binary_search_by(|it| it.as_str().cmp(here));
        namespace.is_some_and(|here| found(here).is_ok())
    }

    /// The parameters of a list in pages.
    pub(super) fn list_params(&self) -> ListParams {
        ListParams {
            label_selector: self.label_selector(),
            field_selector: self.field_selector(),
            limit: Some(self.page_size.unwrap_or(PAGE)),
            ..ListParams::default()
        }
    }

    /// The parameters of a watch.
    pub(super) fn watch_params(&self) -> WatchParams {
        WatchParams {
            label_selector: self.label_selector(),
            field_selector: self.field_selector(),
            ..WatchParams::default()
        }
    }

    fn label_selector(&self) -> Option<String> {
        self.has_labels().then(|| self.labels())
    }

    fn field_selector(&self) -> Option<String> {
        self.has_fields().then(|| self.fields.clone())
    }

    /// Like [`transformed`](Self::transformed), without a copy if there is nothing to transform.
    pub(crate) fn transformed_shared(&self, object: Arc<K>) -> Lenient<Arc<K>> {
        if self.transform.is_none() {
            return Lenient::Object(object);
        }
        match self.transformed(Arc::unwrap_or_clone(object)) {
            Lenient::Object(object) => Lenient::Object(Arc::new(object)),
            Lenient::Unreadable(object) => Lenient::Unreadable(object),
        }
    }

    /// The object as the transform leaves it. If that panics, the object counts as unreadable: it may have been changed
    /// in part.
    pub(crate) fn transformed(&self, mut object: K) -> Lenient<K> {
        let Some(transform) = &self.transform else {
            return Lenient::Object(object);
        };
        let Err(panic) = caught(|| transform(&mut object)) else {
            return Lenient::Object(object);
        };
        let meta = object.meta().clone();
        dropped(object);
        let reason = format!("the transform of its cache panicked: {panic}");
        Lenient::Unreadable(Box::new(Unreadable { meta, reason }))
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    use kube::core::Expression;

    use super::*;

    #[test]
    fn each_namespace_has_its_own_watch_and_a_cluster_scoped_kind_has_one() {
        let all = Shape::<ConfigMap>::default();
        let namespaces = ["a".to_owned(), "b".to_owned()];
        let of = |name: &str| Some(name.to_owned());
        assert_eq!(all.scopes(&namespaces), [of("a"), of("b")]);
        assert_eq!(all.scopes(&[]), [None]);
        let cluster = Shape::<Namespace>::default();
        assert_eq!(cluster.scopes(&namespaces), [None]);
        assert!(all.watches(Some("c"), &[]) && !all.watches(Some("c"), &namespaces));
        assert!(cluster.watches(None, &namespaces));
        let own = Shape::<ConfigMap> {
            namespaces: Some(vec!["c".to_owned()]),
            ..all
        };
        assert_eq!(own.scopes(&namespaces), [of("c")]);
        assert!(own.watches(Some("c"), &namespaces) && !own.watches(Some("a"), &namespaces));
    }

    #[test]
    fn a_shape_becomes_the_parameters_of_its_requests() {
        let expression = Expression::Exists("shard".to_owned());
        let shape = Shape::<ConfigMap> {
            labels: expression.into(),
            fields: "metadata.name!=a".to_owned(),
            page_size: Some(7),
            ..Shape::default()
        };
        let (list, watch) = (shape.list_params(), shape.watch_params());
        for labels in [list.label_selector, watch.label_selector] {
            assert_eq!(labels.as_deref(), Some("shard"));
        }
        for fields in [list.field_selector, watch.field_selector] {
            assert_eq!(fields.as_deref(), Some("metadata.name!=a"));
        }
        assert_eq!(list.limit, Some(7));
        let all = Shape::<ConfigMap>::default().list_params();
        assert_eq!((all.label_selector, all.field_selector), (None, None));
        assert_eq!(all.limit, Some(500));
    }

    #[test]
    fn an_object_whose_transform_panics_is_unreadable() {
        let shape = Shape::<ConfigMap> {
            transform: Some(Arc::new(|_| panic!("no data"))),
            ..Shape::default()
        };
        let Lenient::Unreadable(object) = shape.transformed(ConfigMap::default()) else {
            panic!("it can be read");
        };
        assert_eq!(
            object.reason,
            "the transform of its cache panicked: no data"
        );
    }
}
