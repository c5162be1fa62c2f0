//! Objects of kinds that have no Rust type.

mod json;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt, marker::PhantomData};

use kube::{
    Resource,
    api::{ApiResource, ObjectMeta},
    core::object::HasStatus,
};
use serde_json::Value;

use crate::cache::object::Scope;

/// The names of a kind, for [`Dynamic`]. The type that implements it only stands for the kind: it needs no values and no
/// derives.
///
/// A kind whose names are known when the operator is compiled:
///
/// ```
/// use std::sync::LazyLock;
///
/// use k8s_openapi::NamespaceResourceScope;
/// use kube::api::{ApiResource, GroupVersionKind};
/// use manager::DynamicKind;
///
/// enum Widget {}
///
/// impl DynamicKind for Widget {
///     type Scope = NamespaceResourceScope;
///
///     fn resource() -> &'static ApiResource {
///         static WIDGETS: LazyLock<ApiResource> = LazyLock::new(|| {
///             let kind = GroupVersionKind::gvk("example.com", "v1", "Widget");
///             ApiResource::from_gvk_with_plural(&kind, "widgets")
///         });
///         &WIDGETS
///     }
/// }
/// ```
///
/// A kind whose names the operator learns when it starts, from its flags and the API server:
///
/// ```
/// use std::sync::OnceLock;
///
/// use k8s_openapi::NamespaceResourceScope;
/// use kube::{api::{ApiResource, GroupVersionKind}, discovery};
/// use manager::{Dynamic, DynamicKind, Manager, kind};
///
/// enum Source {}
///
/// static SOURCE: OnceLock<ApiResource> = OnceLock::new();
///
/// impl DynamicKind for Source {
///     type Scope = NamespaceResourceScope;
///
///     fn resource() -> &'static ApiResource {
///         SOURCE.get().expect("`register` sets it before it names the kind")
///     }
/// }
///
/// async fn register(manager: &mut Manager, kind: GroupVersionKind) -> anyhow::Result<()> {
///     let (resource, _) = discovery::pinned_kind(&manager.client(), &kind).await?;
///     SOURCE.get_or_init(|| resource);
///     manager.reads(manager::kind::<Dynamic<Source>>());
///     Ok(())
/// }
/// ```
pub trait DynamicKind: 'static {
    /// `NamespaceResourceScope` or `ClusterResourceScope` of k8s-openapi.
    type Scope: Scope;

    /// Group, version, kind and plural. They must be the same at each call.
    fn resource() -> &'static ApiResource;
}

/// An object of a kind that has no Rust type, controller-runtime's `unstructured.Unstructured`. `D` names the kind.
///
/// It can be used wherever a type of a kind can: in `controller`, `owns`, `watches` and `reads`, in the methods of
/// [`Context`](crate::Context), in webhooks and on the fake API server. Each `D` has a cache of its own, so use one type
/// for each kind.
///
/// ```
/// # use std::sync::Arc;
/// # use k8s_openapi::NamespaceResourceScope;
/// # use kube::api::ApiResource;
/// # use manager::{DynamicKind, Manager, metadata};
/// # enum Widget {}
/// # enum Part {}
/// # impl DynamicKind for Widget {
/// #     type Scope = NamespaceResourceScope;
/// #     fn resource() -> &'static ApiResource { unimplemented!() }
/// # }
/// # impl DynamicKind for Part {
/// #     type Scope = NamespaceResourceScope;
/// #     fn resource() -> &'static ApiResource { unimplemented!() }
/// # }
/// use manager::{Action, Context, Dynamic};
/// use serde_json::json;
///
/// fn register(manager: &mut Manager) {
///     manager
///         .controller::<Dynamic<Widget>>("widget")
///         .owns(metadata::<Dynamic<Part>>())
///         .reconcile(reconcile);
/// }
///
/// async fn reconcile(
///     widget: Arc<Dynamic<Widget>>,
///     cx: Context<Dynamic<Widget>>,
/// ) -> anyhow::Result<Action> {
///     let size = widget.data["spec"]["size"].as_i64().unwrap_or(1);
///     let part = Dynamic::<Part>::new(cx.name(), json!({"spec": {"size": size}}));
///     let part = cx.apply(&part).await?;
///     cx.status(|status| status["part"] = json!(part.metadata.name));
///     Ok(Action::await_change())
/// }
/// ```
///
/// The status may have a type, `S`. With one that has conditions, [`Controller::conditions`](crate::Controller::conditions)
/// and [`Context::ready`](crate::Context::ready) can be used:
///
/// ```
/// # use k8s_openapi::{NamespaceResourceScope, apimachinery::pkg::apis::meta::v1::Condition};
/// # use kube::api::ApiResource;
/// # use manager::{Action, Context, Dynamic, DynamicKind, Manager};
/// # use serde::{Deserialize, Serialize};
/// # enum Widget {}
/// # impl DynamicKind for Widget {
/// #     type Scope = NamespaceResourceScope;
/// #     fn resource() -> &'static ApiResource { unimplemented!() }
/// # }
/// #[derive(Clone, Debug, Default, Deserialize, Serialize)]
/// #[serde(default, rename_all = "camelCase")]
/// struct WidgetStatus {
///     conditions: Vec<Condition>,
///     observed_generation: Option<i64>,
/// }
///
/// fn register(manager: &mut Manager) {
///     manager
///         .controller::<Dynamic<Widget, WidgetStatus>>("widget")
///         .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
///         .reconcile(async |_, cx| {
///             cx.ready("Done", "there is nothing to do");
///             Ok(Action::await_change())
///         });
/// }
/// ```
///
/// An object that was rendered as JSON or YAML is read with serde; it must be of this kind.
pub struct Dynamic<D, S = Value> {
    /// Name, labels and so on.
    pub metadata: ObjectMeta,
    /// The field `status`.
    pub status: Option<S>,
    /// All other fields, such as `spec`, as a JSON object; `apiVersion` and `kind` are not among them.
    pub data: Value,
    kind: PhantomData<fn() -> D>,
}

impl<D: DynamicKind> Dynamic<D> {
    /// An object with this name and these fields, such as `json!({"spec": {}})`. The metadata and the status are set
    /// afterwards.
    #[must_use]
    pub fn new(name: &str, data: Value) -> Self {
        Self {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            },
            status: None,
            data,
            kind: PhantomData,
        }
    }
}

impl<D: DynamicKind, S> Resource for Dynamic<D, S> {
    type DynamicType = ();
    type Scope = D::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        D::resource().kind.as_str().into()
    }

    fn group((): &()) -> Cow<'_, str> {
        D::resource().group.as_str().into()
    }

    fn version((): &()) -> Cow<'_, str> {
        D::resource().version.as_str().into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        D::resource().plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<D, S> HasStatus for Dynamic<D, S> {
    type Status = S;

    fn status(&self) -> Option<&S> {
        self.status.as_ref()
    }

    fn status_mut(&mut self) -> &mut Option<S> {
        &mut self.status
    }
}

// Derives would demand of `D` what they derive.
impl<D, S: Clone> Clone for Dynamic<D, S> {
    fn clone(&self) -> Self {
        Self {
            metadata: self.metadata.clone(),
            status: self.status.clone(),
            data: self.data.clone(),
            kind: PhantomData,
        }
    }
}

impl<D, S: PartialEq> PartialEq for Dynamic<D, S> {
    fn eq(&self, other: &Self) -> bool {
        self.metadata == other.metadata && self.status == other.status && self.data == other.data
    }
}

impl<D: DynamicKind, S: fmt::Debug> fmt::Debug for Dynamic<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(&D::resource().kind)
            .field("metadata", &self.metadata)
            .field("status", &self.status)
            .field("data", &self.data)
            .finish()
    }
}
