//! The annotations by which a user pauses an object, or has it reconciled now. They are the same in every operator, in a
//! domain of its own: its id.

use kube::Resource;

use crate::{
    cache::{object::Cached, store::Change},
    panics::caught,
};

/// Pauses an object; `all` also pauses its clean-up.
const PAUSED: &str = "paused";

/// Has an object reconciled now, whenever its value changes.
const RECONCILE_AT: &str = "reconcile-at";

/// The value of [`RECONCILE_AT`] of the last reconcile that has succeeded.
const RECONCILED_AT: &str = "reconciled-at";

/// What of an object is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    Nothing,
    /// Its reconciles, but not its clean-up.
    Reconciles,
    All,
}

/// Which of the annotations a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Pause,
    Poke,
}

/// Decides whether an object is paused.
type PausedWhen<K> = Box<dyn Fn(&K) -> bool + Send + Sync>;

/// The names of the annotations, and what else pauses the objects of a controller.
pub(crate) struct Controls<K> {
    pub(crate) paused: String,
    pub(crate) reconcile_at: String,
    pub(crate) reconciled_at: String,
    paused_when: Vec<PausedWhen<K>>,
}

impl<K: Cached> Controls<K> {
    /// Those of the operator with this id.
    pub(crate) fn of(id: &str) -> Self {
        let name = |name: &str| format!("{id}/{name}");
        Self {
            paused: name(PAUSED),
            reconcile_at: name(RECONCILE_AT),
            reconciled_at: name(RECONCILED_AT),
            paused_when: Vec::new(),
        }
    }

    /// Also pauses the objects for which this is true.
    pub(crate) fn add(&mut self, paused_when: impl Fn(&K) -> bool + Send + Sync + 'static) {
        self.paused_when.push(Box::new(paused_when));
    }

    pub(crate) fn pause(&self, object: &K) -> Pause {
        match value(object, &self.paused) {
            Some("all") => Pause::All,
            // A typing error must not reconcile what a user wants to be left alone.
            Some(value) if value != "false" && !value.is_empty() => Pause::Reconciles,
            _ if self.paused_when.iter().any(|it| holds(it, object)) => Pause::Reconciles,
            _ => Pause::Nothing,
        }
    }

    /// The value of `reconcile-at` that is not that of `reconciled-at` yet.
    pub(crate) fn asked<'a>(&self, object: &'a K) -> Option<&'a str> {
        let asked = value(object, &self.reconcile_at)?;
        (value(object, &self.reconciled_at) != Some(asked)).then_some(asked)
    }

    /// Which of them a change is about. Such a change matters, whatever the author's predicates say.
    pub(crate) fn of_change(&self, change: &Change<'_, K>) -> Option<Control> {
        let (old, new) = (change.old?, change.new?);
        let differs = |name: &str| value(old, name) != value(new, name);
        let same = old.meta().annotations == new.meta().annotations;
        if !same && differs(&self.reconcile_at) {
            return Some(Control::Poke);
        }
        let changes = |it: &PausedWhen<K>| holds(it, old) != holds(it, new);
        let pauses = !same && differs(&self.paused) || self.paused_when.iter().any(changes);
        pauses.then_some(Control::Pause)
    }
}

fn value<'a, K: Resource>(object: &'a K, name: &str) -> Option<&'a str> {
    let annotations = object.meta().annotations.as_ref()?;
    annotations.get(name).map(String::as_str)
}

/// Whether code of the author's says that an object is paused. Code that panics pauses nothing.
fn holds<K>(paused_when: &PausedWhen<K>, object: &K) -> bool {
    caught(|| paused_when(object)).unwrap_or_else(|panic| {
        tracing::error!(panic, "a function of paused_when panicked");
        false
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn annotated(annotations: &[(&str, &str)]) -> ConfigMap {
        let mut object = ConfigMap::default();
        let owned = |(name, value): &(&str, &str)| {
            let name = format!("captains.example.com/{name}");
            (name, (*value).to_owned())
        };
        object.metadata.annotations = Some(annotations.iter().map(owned).collect());
        object
    }

    fn controls() -> Controls<ConfigMap> {
        Controls::of("captains.example.com")
    }

    #[test]
    fn any_value_but_false_pauses_and_all_also_pauses_the_clean_up() {
        let pause = |value| controls().pause(&annotated(&[("paused", value)]));
        assert_eq!(pause("true"), Pause::Reconciles);
        assert_eq!(pause("True"), Pause::Reconciles);
        assert_eq!(pause("all"), Pause::All);
        assert_eq!(pause("false"), Pause::Nothing);
        assert_eq!(pause(""), Pause::Nothing);
        assert_eq!(controls().pause(&annotated(&[])), Pause::Nothing);
    }

    #[test]
    fn an_author_may_pause_by_a_field_and_code_that_panics_pauses_nothing() {
        let mut controls = controls();
        controls.add(|map| map.immutable == Some(true));
        controls.add(|map| map.binary_data.is_some() && panic!("no idea"));
        let mut map = ConfigMap::default();
        assert_eq!(controls.pause(&map), Pause::Nothing);
        map.binary_data = Some([].into());
        assert_eq!(controls.pause(&map), Pause::Nothing);
        map.immutable = Some(true);
        assert_eq!(controls.pause(&map), Pause::Reconciles);
    }

    #[test]
    fn a_change_is_about_the_annotation_that_it_changes() {
        let mut controls = controls();
        controls.add(|map| map.immutable == Some(true));
        let of = |old: &ConfigMap, new: &ConfigMap| {
            controls.of_change(&Change {
                key: &"a".into(),
                old: Some(old),
                new: Some(new),
                unreadable: None,
                initial: false,
            })
        };
        let (none, other) = (annotated(&[]), annotated(&[("other", "1")]));
        assert_eq!(of(&none, &other), None);
        assert_eq!(
            of(&none, &annotated(&[("paused", "true")])),
            Some(Control::Pause)
        );
        assert_eq!(
            of(&annotated(&[("paused", "true")]), &none),
            Some(Control::Pause)
        );
        let asked = annotated(&[("reconcile-at", "1")]);
        assert_eq!(of(&none, &asked), Some(Control::Poke));
        assert_eq!(controls.asked(&asked), Some("1"));
        let done = annotated(&[("reconcile-at", "1"), ("reconciled-at", "1")]);
        assert_eq!(controls.asked(&done), None);
        assert_eq!(of(&asked, &done), None);
        let immutable = ConfigMap {
            immutable: Some(true),
            ..none.clone()
        };
        assert_eq!(of(&none, &immutable), Some(Control::Pause));
    }
}
