//! Deserializers, and seeds that get one, which charge for what their values keep on the heap.

use serde::{
    Deserializer,
    de::{DeserializeSeed, Visitor},
};

use super::{
    ALLOCATION, charge,
    parts::{Kept, Parts},
};
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
    fn split<'de, V: Visitor<'de>, E: serde::de::Error>(
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
macro_rules! plain {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$name(visitor)
        })*
    };
}

/// Values with parts, which are kept in this way.
macro_rules! parts {
    ($($name:ident($($argument:ident: $type:ty),*) $kept:expr;)*) => {
        $(fn $name<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let (inner, parts) = self.split(visitor, $kept)?;
            inner.$name($($argument,)* parts)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Charged<'_, D> {
    type Error = D::Error;

    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char deserialize_unit
        deserialize_identifier deserialize_ignored_any
    }

    parts! {
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
pub(super) struct Seed<'b, S> {
    pub(super) inner: S,
    pub(super) budget: &'b Budget,
    /// What the place for the part takes on the heap.
    pub(super) cost: usize,
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
