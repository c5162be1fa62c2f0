//! A deserializer around another, which charges for what its values keep on the heap.
//!
//! The visitor of a value with parts is wrapped, so is the access to the parts that it gets, and each part gets a charged
//! deserializer again.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor},
};

use super::cost::{ALLOCATION, charge, entry, item};
use crate::servers::budget::Budget;

/// A deserializer.
pub(super) struct Charged<'b, D> {
    pub(super) inner: D,
    pub(super) budget: &'b Budget,
    /// The bytes of the place for the value, which are charged already.
    pub(super) size: usize,
}

impl<'b, D> Charged<'b, D> {
    /// The inner deserializer, and a visitor of the parts of the value. A value that is larger than its place is in a box
    /// of its own.
    fn split<'de, V: Visitor<'de>, E: Error>(
        self,
        visitor: V,
        kept: Kept,
    ) -> Result<(D, Parts<'b, V>), E> {
        let own = size_of::<V::Value>();
        if own > self.size {
            charge(self.budget, own + ALLOCATION)?;
        }
        let parts = Parts {
            inner: visitor,
            budget: self.budget,
            kept,
            size: own.max(self.size),
            count: 0,
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

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Charged<'_, D> {
    type Error = D::Error;

    deserialize_plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    deserialize_parts! {
        deserialize_any() Kept::Anywhere;
        deserialize_str() Kept::Inside;
        deserialize_string() Kept::Inside;
        deserialize_bytes() Kept::Inside;
        deserialize_byte_buf() Kept::Listed;
        deserialize_option() Kept::Inside;
        deserialize_newtype_struct(name: &'static str) Kept::Inside;
        deserialize_seq() Kept::Listed;
        deserialize_tuple(length: usize) Kept::Inside;
        deserialize_tuple_struct(name: &'static str, length: usize) Kept::Inside;
        deserialize_map() Kept::mapped::<V::Value>();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) Kept::Inside;
        deserialize_enum(name: &'static str, variants: &'static [&'static str]) Kept::Inside;
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
struct Seed<'b, S> {
    inner: S,
    budget: &'b Budget,
    /// What the place for the part takes on the heap.
    cost: usize,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Seed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        charge(self.budget, self.cost)?;
        self.inner.deserialize(Charged {
            inner,
            budget: self.budget,
            size: size_of::<S::Value>(),
        })
    }
}

/// The largest size of a map; what is larger is a struct with fields that are collected (`#[serde(flatten)]`).
const MAP: usize = 80;

/// The bytes of an object of any type, with a few fields: the node of a map of values, or a struct that is parsed after
/// its fields were collected (`#[serde(flatten)]`, `untagged`), which nothing can count then.
const OBJECT: usize = 1024;

/// Where the parts of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    /// In the place of the value, such as the fields of a struct.
    Inside,
    /// In a list or a set.
    Listed,
    /// In a map.
    Mapped,
    /// In what the type makes of any value.
    Anywhere,
}

impl Kept {
    /// Where the parts of a `T` are that is parsed like a map.
    fn mapped<T>() -> Self {
        if size_of::<T>() > MAP {
            Self::Inside
        } else {
            Self::Mapped
        }
    }
}

/// A visitor, or an access to the parts.
struct Parts<'b, X> {
    inner: X,
    budget: &'b Budget,
    kept: Kept,
    /// The bytes of the place for the value, which are charged already.
    size: usize,
    /// How many parts there were so far.
    count: usize,
}

impl<'b, X> Parts<'b, X> {
    /// The visitor, and the access to give it.
    fn give<A>(self, inner: A) -> (X, Parts<'b, A>) {
        let access = Parts {
            inner,
            budget: self.budget,
            kept: self.kept,
            size: self.size,
            count: 0,
        };
        (self.inner, access)
    }

    fn seed<S>(&self, inner: S, cost: usize) -> Seed<'b, S> {
        Seed {
            inner,
            budget: self.budget,
            cost,
        }
    }

    /// What the name or the value of an entry costs.
    fn entry<T>(&self) -> usize {
        match self.kept {
            Kept::Inside => 0,
            // The first ones are part of the object.
            Kept::Anywhere if self.count < 11 => 0,
            Kept::Listed | Kept::Mapped | Kept::Anywhere => entry(size_of::<T>(), self.count),
        }
    }

    fn text<E: Error>(&self, bytes: usize) -> Result<(), E> {
        charge(self.budget, bytes + ALLOCATION)
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

impl<'de, V: Visitor<'de>> Visitor<'de> for Parts<'_, V> {
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
        let Self { budget, size, .. } = self;
        self.inner.visit_some(Charged {
            inner,
            budget,
            size,
        })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let Self { budget, size, .. } = self;
        self.inner.visit_newtype_struct(Charged {
            inner,
            budget,
            size,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let (visitor, access) = self.give(access);
        visitor.visit_seq(access)
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        if self.kept == Kept::Anywhere {
            charge(self.budget, OBJECT)?;
        }
        let (visitor, access) = self.give(access);
        visitor.visit_map(access)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        let (visitor, access) = self.give(access);
        visitor.visit_enum(access)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Parts<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let cost = match self.kept {
            Kept::Inside => 0,
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

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Parts<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let seed = self.seed(seed, self.entry::<S::Value>());
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.seed(seed, self.entry::<S::Value>());
        self.count += 1;
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'b, A: EnumAccess<'de>> EnumAccess<'de> for Parts<'b, A> {
    type Error = A::Error;
    type Variant = Parts<'b, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let Self { budget, size, .. } = self;
        let (value, inner) = self.inner.variant_seed(seed)?;
        let variant = Parts {
            inner,
            budget,
            kept: Kept::Inside,
            size,
            count: 0,
        };
        Ok((value, variant))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Parts<'_, A> {
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
