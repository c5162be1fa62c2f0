//! Schema -> CEL type.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::schema::is_embedded;

/// A CEL type. Clones share what it contains: an expression mentions `self` many times.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "CEL's names")]
pub enum Type {
    /// Any type, known only at run time.
    Dyn,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    /// `type(x)`.
    Kind,
    List(Arc<Type>),
    Map(Arc<Type>, Arc<Type>),
    /// An object with these fields, and what tells it from others: objects at different paths never have the same type.
    Object(Place, Arc<BTreeMap<String, Type>>),
    Optional(Arc<Type>),
    /// A type of Kubernetes' libraries: `kubernetes.URL`.
    Opaque(&'static str),
}

/// Where the schema of an object is, in memory: the same for as long as types of it are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    schema: usize,
    /// The metadata of an object, which has no schema.
    is_meta: bool,
}

impl Place {
    /// That of something.
    pub fn of<T: ?Sized>(schema: &T) -> Self {
        let schema = std::ptr::from_ref(schema).addr();
        let is_meta = false;
        Self { schema, is_meta }
    }
}

impl Type {
    /// The CEL type of a schema; `None` if rules cannot see its values.
    #[must_use]
    pub fn of(schema: &Value, resource: bool) -> Option<Self> {
        if schema["x-kubernetes-int-or-string"] == json!(true) {
            return Some(Self::Dyn);
        }
        let inner = |schema: &Value| Self::of(schema, is_embedded(schema)).map(Arc::new);
        match schema["type"].as_str()? {
            "array" => Some(Self::List(inner(&schema["items"])?)),
            "object" if schema["additionalProperties"].is_object() => Some(Self::Map(
                Arc::new(Self::String),
                inner(&schema["additionalProperties"])?,
            )),
            "object" => {
                let fields = fields(schema, resource);
                Some(Self::Object(Place::of(schema), fields.into()))
            }
            "string" => Some(match schema["format"].as_str() {
                Some("byte") => Self::Bytes,
                Some("duration") => Self::Duration,
                Some("date" | "date-time") => Self::Timestamp,
                _ => Self::String,
            }),
            "boolean" => Some(Self::Bool),
            "number" => Some(Self::Double),
            "integer" => Some(Self::Int),
            _ => None,
        }
    }

    /// Whether a value of this type is accepted where the other is expected.
    #[allow(clippy::match_same_arms, reason = "a table")]
    #[must_use]
    pub fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (
                Self::Null,
                Self::Object(..)
                | Self::Timestamp
                | Self::Duration
                | Self::Opaque(_)
                | Self::Optional(_),
            )
            | (
                Self::Object(..)
                | Self::Timestamp
                | Self::Duration
                | Self::Opaque(_)
                | Self::Optional(_),
                Self::Null,
            ) => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.fits(b),
            (Self::Map(a, b), Self::Map(c, d)) => a.fits(c) && b.fits(d),
            (a, b) => a == b,
        }
    }

    /// Whether the types certainly differ, as in `[1, 'a']`, which is not a valid list in Kubernetes' CEL.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => false,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.differs(b),
            (Self::Map(a, b), Self::Map(c, d)) => a.differs(c) || b.differs(d),
            (a, b) => a != b,
        }
    }

    /// The common type of both, or `Dyn`.
    #[must_use]
    pub fn join(self, other: &Self) -> Self {
        if self == *other { self } else { Self::Dyn }
    }
}

fn fields(schema: &Value, resource: bool) -> BTreeMap<String, Type> {
    let mut fields = BTreeMap::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let kind = Type::of(field, is_embedded(field));
        for name in written(name) {
            fields.extend(kind.clone().map(|kind| (name, kind)));
        }
    }
    if resource {
        let names = [("name", Type::String), ("generateName", Type::String)];
        let meta = names.map(|(name, kind)| (name.to_owned(), kind));
        let place = Place {
            is_meta: true,
            ..Place::of(schema)
        };
        let meta = Type::Object(place, Arc::new(meta.into()));
        fields.insert("metadata".to_owned(), meta);
        fields.insert("apiVersion".to_owned(), Type::String);
        fields.insert("kind".to_owned(), Type::String);
    }
    fields
}

/// The names of a field in CEL: none for some fields, two for words that Kubernetes reserves but CEL does not.
pub fn written(name: &str) -> Vec<String> {
    const WORDS: [&str; 4] = ["true", "false", "null", "in"];
    const RESERVED: [&str; 17] = [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    if WORDS.contains(&name) {
        return vec![format!("__{name}__")];
    }
    if RESERVED.contains(&name) {
        return vec![format!("__{name}__"), name.to_owned()];
    }
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-./".contains(character);
    let start =
        name.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_');
    let text = name.replace("__", "__underscores__");
    let text = text
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    let writable = start && name.chars().all(allowed);
    writable.then_some(text).into_iter().collect()
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dyn => "anything",
            Self::Null => "null",
            Self::Bool => "a bool",
            Self::Int => "an int",
            Self::UInt => "a uint",
            Self::Double => "a double",
            Self::String => "a string",
            Self::Bytes => "bytes",
            Self::Duration => "a duration",
            Self::Timestamp => "a timestamp",
            Self::Kind => "a type",
            Self::List(_) => "a list",
            Self::Map(..) => "a map",
            Self::Object(..) => "an object",
            Self::Optional(_) => "an optional",
            Self::Opaque(name) => name,
        };
        f.write_str(name)
    }
}
