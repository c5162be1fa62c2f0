//! A deserializer around another, which counts what its values keep on the heap, and notes what the type ignores.
//!
//! The visitor of a value with parts is wrapped, so is the access to the parts that it gets, and each part gets a watched
//! deserializer again.

use std::{
    any::type_name,
    cell::{Cell, RefCell},
    fmt,
};

use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// The bytes that an allocation takes besides its content.
const ALLOCATION: usize = 24;

/// The most bytes of the first items of a set, whose nodes have room for eleven. Large values are in lists.
const FEW: usize = 384;

/// The bytes of an object of any type, with a few fields: the node of a map of values, or a struct that is parsed after
/// its fields were collected (`#[serde(flatten)]`, `untagged`), which nothing can count then.
const OBJECT: usize = 1024;

/// The bytes that one more item of this size takes in a list or a set of `count`. A list has room for four, and doubles.
fn item(size: usize, count: usize) -> usize {
    match count {
        0 => FEW.min(11 * size).max(4 * size),
        4.. if count.is_power_of_two() => count * size,
        _ => 0,
    }
}

/// The bytes that one more name or value of this size takes in a map of `count`. A node of a map has room for eleven.
fn entry(size: usize, count: usize) -> usize {
    match count {
        0 => 11 * size,
        1..11 => 0,
        _ => 2 * size,
    }
}

/// The fields that a type did not know, and ignored.
#[derive(Debug, Default)]
pub(crate) struct Unknown<'a> {
    /// In the order of the text that was parsed.
    pub(crate) values: Vec<Ignored<'a>>,
    /// Whether there may be others. What `#[serde(flatten)]`, `tag` and `untagged` collect is parsed where no deserializer
    /// of ours is.
    pub(crate) may_hide: bool,
}

/// A field that a type did not know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ignored<'a> {
    /// Its value, a part of the text that was parsed.
    pub(crate) value: &'a str,
    /// The fields of the struct that it is in, as far as that says them.
    pub(crate) siblings: &'static [&'static str],
}

/// What is seen while a text is parsed.
pub(super) struct Watch<'de> {
    most: usize,
    used: Cell<usize>,
    /// The fields that were ignored, if they are wanted.
    ignored: Option<RefCell<Vec<Ignored<'de>>>>,
    /// The fields of the struct of which a part is parsed.
    siblings: Cell<&'static [&'static str]>,
    may_hide: Cell<bool>,
    /// Whether the last key was that of a struct.
    was_field: Cell<bool>,
}

impl<'de> Watch<'de> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            used: Cell::new(0),
            ignored: None,
            siblings: Cell::new(&[]),
            may_hide: Cell::new(false),
            was_field: Cell::new(false),
        }
    }

    /// One that also finds fields that are ignored.
    pub(super) fn finding(most: usize) -> Self {
        let ignored = Some(RefCell::default());
        Self {
            ignored,
            ..Self::new(most)
        }
    }

    pub(super) fn found(self) -> Unknown<'de> {
        Unknown {
            values: self.ignored.map(RefCell::into_inner).unwrap_or_default(),
            may_hide: self.may_hide.get(),
        }
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used.get()
    }

    /// Whether it was too much. It stays so.
    pub(super) fn is_exceeded(&self) -> bool {
        self.used.get() > self.most
    }

    pub(super) fn problem(&self) -> String {
        let most = self.most >> 20;
        format!("the limit of {most} MiB of memory for a review is exceeded")
    }

    /// Counts bytes that are about to be allocated.
    pub(super) fn charge<E: Error>(&self, bytes: usize) -> Result<(), E> {
        self.used.set(self.used.get().saturating_add(bytes));
        if self.is_exceeded() {
            return Err(E::custom(self.problem()));
        }
        Ok(())
    }
}

/// A deserializer.
pub(super) struct Watched<'w, 'de, D> {
    inner: D,
    watch: &'w Watch<'de>,
    /// The bytes of the place for the value, which are charged already.
    size: usize,
}

impl<'w, 'de, D> Watched<'w, 'de, D> {
    /// A deserializer of a `T`, whose place is charged already.
    pub(super) fn of<T>(inner: D, watch: &'w Watch<'de>) -> Self {
        let size = size_of::<T>();
        Self { inner, watch, size }
    }

    /// The inner deserializer, and a visitor of the parts of the value. A value that is larger than its place is in a box
    /// of its own.
    fn split<V: Visitor<'de>, E: Error>(
        self,
        visitor: V,
        kept: Kept,
    ) -> Result<(D, Parts<'w, 'de, V>), E> {
        let own = size_of::<V::Value>();
        if own > self.size {
            self.watch.charge(own + ALLOCATION)?;
        }
        let parts = Parts {
            inner: visitor,
            watch: self.watch,
            kept,
            size: own.max(self.size),
            count: 0,
            fields: &[],
        };
        Ok((self.inner, parts))
    }
}

/// Values that have no parts.
macro_rules! deserialize_plain {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$name(visitor)
        })*
    };
}

/// Values with parts, which are kept in this way.
macro_rules! deserialize_parts {
    ($($name:ident($($argument:ident: $type:ty),*) $kept:expr;)*) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let (inner, parts) = self.split(visitor, $kept)?;
            inner.$name($($argument,)* parts)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Watched<'_, 'de, D> {
    type Error = D::Error;

    deserialize_plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_unit
    }

    deserialize_parts! {
        deserialize_any() Kept::as_any::<V::Value>();
        deserialize_str() Kept::Inside;
        deserialize_string() Kept::Inside;
        deserialize_bytes() Kept::Inside;
        deserialize_byte_buf() Kept::Listed;
        deserialize_option() Kept::Inside;
        deserialize_newtype_struct(name: &'static str) Kept::Inside;
        deserialize_seq() Kept::Listed;
        deserialize_tuple(length: usize) Kept::Inside;
        deserialize_tuple_struct(name: &'static str, length: usize) Kept::Inside;
        deserialize_map() Kept::Mapped;
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) Kept::Inside;
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let (inner, parts) = self.split(visitor, Kept::Inside)?;
        inner.deserialize_struct(name, fields, Parts { fields, ..parts })
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.watch.was_field.set(true);
        self.inner.deserialize_identifier(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let Some(ignored) = &self.watch.ignored else {
            return self.inner.deserialize_ignored_any(visitor);
        };
        self.watch.charge(size_of::<Ignored<'_>>())?;
        let siblings = self.watch.siblings.get();
        let value = <&RawValue>::deserialize(self.inner)?.get();
        ignored.borrow_mut().push(Ignored { value, siblings });
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// The seed of a part.
struct Seed<'w, 'de, S> {
    inner: S,
    watch: &'w Watch<'de>,
    /// What the place for the part takes on the heap.
    cost: usize,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Seed<'_, 'de, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.watch.charge(self.cost)?;
        let watched = Watched::of::<S::Value>(inner, self.watch);
        self.inner.deserialize(watched)
    }
}

/// Where the parts of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// In the place of the value, such as the fields of a struct.
    Inside,
    /// In a list or a set.
    Listed,
    /// In a map. Or in a struct that collects fields (`#[serde(flatten)]`), which its first name shows.
    Mapped,
    /// In a [`Value`].
    Dynamic,
    /// In what the type makes of any value, or of fields that it collects.
    Anywhere,
}

impl Kept {
    /// Where the parts of a `T` are that is parsed from any value. If the names of the types do not tell, more is counted.
    fn as_any<T>() -> Self {
        if type_name::<T>() == type_name::<Value>() {
            Self::Dynamic
        } else {
            Self::Anywhere
        }
    }
}

/// A visitor, or an access to the parts.
struct Parts<'w, 'de, X> {
    inner: X,
    watch: &'w Watch<'de>,
    kept: Kept,
    /// The bytes of the place for the value, which are charged already.
    size: usize,
    /// How many parts there were so far.
    count: usize,
    /// The fields, if it is a struct.
    fields: &'static [&'static str],
}

impl<'w, 'de, X> Parts<'w, 'de, X> {
    /// The visitor, and the access to give it.
    fn give<A>(self, inner: A) -> (X, Parts<'w, 'de, A>) {
        let access = Parts {
            inner,
            watch: self.watch,
            kept: self.kept,
            size: self.size,
            count: 0,
            fields: self.fields,
        };
        (self.inner, access)
    }

    fn seed<S>(&self, inner: S, cost: usize) -> Seed<'w, 'de, S> {
        let watch = self.watch;
        Seed { inner, watch, cost }
    }

    /// What the name or the value of an entry costs.
    fn entry<T>(&self) -> usize {
        match self.kept {
            Kept::Inside => 0,
            // The first ones are part of the object.
            Kept::Anywhere if self.count < 11 => 0,
            _ => entry(size_of::<T>(), self.count),
        }
    }

    fn text<E: Error>(&self, bytes: usize) -> Result<(), E> {
        self.watch.charge(bytes + ALLOCATION)
    }
}

macro_rules! visit_plain {
    ($($name:ident($type:ty))*) => {
        $(fn $name<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$name(value)
        })*
    };
}

macro_rules! visit_texts {
    ($($name:ident($type:ty))*) => {
        $(fn $name<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.text(value.len())?;
            self.inner.$name(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Parts<'_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visit_plain! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64) visit_char(char)
    }

    visit_texts! {
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let Self { watch, size, .. } = self;
        self.inner.visit_some(Watched { inner, watch, size })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let Self { watch, size, .. } = self;
        self.inner
            .visit_newtype_struct(Watched { inner, watch, size })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let (visitor, access) = self.give(access);
        visitor.visit_seq(access)
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        if self.kept == Kept::Anywhere {
            self.watch.may_hide.set(true);
            self.watch.charge(OBJECT)?;
        }
        let (visitor, access) = self.give(access);
        visitor.visit_map(access)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let (visitor, access) = self.give(access);
        visitor.visit_enum(access)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Parts<'_, 'de, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let cost = match self.kept {
            Kept::Inside => 0,
            Kept::Dynamic if self.count == 0 => 4 * size_of::<S::Value>(),
            _ => item(size_of::<S::Value>(), self.count),
        };
        let seed = self.seed(seed, cost);
        self.count += 1;
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Parts<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.watch.was_field.set(false);
        let key = self.inner.next_key_seed(self.seed(seed, 0))?;
        if self.kept == Kept::Mapped && self.watch.was_field.get() {
            self.kept = Kept::Anywhere;
            self.watch.may_hide.set(true);
        }
        if key.is_some() {
            self.watch.charge(self.entry::<S::Value>())?;
        }
        Ok(key)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.seed(seed, self.entry::<S::Value>());
        self.count += 1;
        self.watch.siblings.set(self.fields);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'w, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Parts<'w, 'de, A> {
    type Error = A::Error;
    type Variant = Parts<'w, 'de, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let Self { watch, size, .. } = self;
        let (value, inner) = self.inner.variant_seed(seed)?;
        let variant = Parts {
            inner,
            watch,
            kept: Kept::Inside,
            size,
            count: 0,
            fields: &[],
        };
        Ok((value, variant))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Parts<'_, 'de, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.seed(seed, 0);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let (access, visitor) = self.give(visitor);
        access.tuple_variant(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let (access, visitor) = self.give(visitor);
        access.struct_variant(fields, visitor)
    }
}
