//! Finds objects by values in them, without looking at all of them.

use std::{collections::BTreeSet, ptr::fn_addr_eq};

use crate::{key::Key, panics::caught};

/// Returns the values under which an object is indexed.
pub type IndexBy<K> = fn(&K) -> Vec<String>;

/// The indexes of one cache, each built on first use.
///
/// An index is identified by the address of its function. If the compiler gives two functions one address, they do the
/// same, so one index is right for both. If it gives one function two addresses, there are two equal indexes.
pub(crate) struct Indexes<K>(Vec<Index<K>>);

struct Index<K> {
    values: IndexBy<K>,
    entries: BTreeSet<(String, Key)>,
}

impl<K> Index<K> {
    fn change(&mut self, key: &Key, old: Option<&K>, new: Option<&K>) {
        let of = self.values;
        let values = |object| {
            caught(|| of(object)).unwrap_or_else(|panic| {
                tracing::error!(panic, %key, "an index panicked");
                Vec::new()
            })
        };
        for value in old.into_iter().flat_map(values) {
            self.entries.remove(&(value, key.clone()));
        }
        for value in new.into_iter().flat_map(values) {
            self.entries.insert((value, key.clone()));
        }
    }
}

impl<K> Indexes<K> {
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Applies a change of an object to every index.
    pub(crate) fn change(&mut self, key: &Key, old: Option<&K>, new: Option<&K>) {
        for index in &mut self.0 {
            index.change(key, old, new);
        }
    }

    /// Whether this index exists yet.
    pub(crate) fn has(&self, values: IndexBy<K>) -> bool {
        self.0.iter().any(|index| fn_addr_eq(index.values, values))
    }

    /// The keys of the objects with this value, sorted; none if the index does not exist yet.
    pub(crate) fn find<'a>(
        &'a self,
        values: IndexBy<K>,
        value: &'a str,
    ) -> impl Iterator<Item = &'a Key> {
        let mut indexes = self.0.iter();
        let index = indexes.find(|index| fn_addr_eq(index.values, values));
        let from = (value.to_owned(), Key::from(""));
        let found = index
            .into_iter()
            .flat_map(move |index| index.entries.range(from.clone()..));
        let found = found.take_while(move |(other, _)| other == value);
        found.map(|(_, key)| key)
    }

    /// Builds an index of all objects.
    pub(crate) fn add<'a>(
        &mut self,
        values: IndexBy<K>,
        objects: impl Iterator<Item = (&'a Key, &'a K)>,
    ) where
        K: 'a,
    {
        let mut index = Index {
            values,
            entries: BTreeSet::new(),
        };
        for (key, object) in objects {
            index.change(key, None, Some(object));
        }
        self.0.push(index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::ptr_arg, reason = "an index is one of an owned type")]
    fn words(text: &String) -> Vec<String> {
        assert!(!text.contains("kraken"), "a kraken");
        text.split(' ').map(str::to_owned).collect()
    }

    fn find(indexes: &Indexes<String>, value: &str) -> Vec<String> {
        indexes.find(words, value).map(Key::to_string).collect()
    }

    #[test]
    fn an_index_follows_changes() {
        let (mut indexes, text) = (Indexes::new(), |text: &str| text.to_owned());
        assert!(!indexes.has(words));
        let (a, b) = (Key::from("ns/a"), Key::from("ns/b"));
        let objects = [(&a, &text("red green")), (&b, &text("green"))];
        indexes.add(words, objects.into_iter());
        assert_eq!(find(&indexes, "green"), ["ns/a", "ns/b"]);
        assert_eq!(find(&indexes, "gre"), [""; 0]);

        indexes.change(&a, Some(&text("red green")), Some(&text("red blue")));
        assert_eq!(find(&indexes, "green"), ["ns/b"]);
        assert_eq!(find(&indexes, "red"), ["ns/a"]);
        indexes.change(&b, Some(&text("green")), None);
        assert_eq!(find(&indexes, "green"), [""; 0]);
    }

    #[test]
    fn an_index_omits_an_object_that_makes_it_panic() {
        let mut indexes = Indexes::new();
        indexes.add(words, std::iter::empty());
        let (key, kraken) = (Key::from("ns/a"), "kraken red".to_owned());
        indexes.change(&key, None, Some(&kraken));
        assert_eq!(find(&indexes, "red"), [""; 0]);
        indexes.change(&key, Some(&kraken), Some(&"red".to_owned()));
        assert_eq!(find(&indexes, "red"), ["ns/a"]);
    }
}
