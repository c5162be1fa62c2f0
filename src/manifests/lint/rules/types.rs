//! Schema -> the type that CEL sees.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

/// A type of CEL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Anything: what it is shows at run time only.
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
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    /// An object with these fields, at this path below `self` (two types are the same if they are in the same place).
    Object(BTreeMap<String, Type>),
    Optional(Box<Type>),
    /// A type of Kubernetes' own functions: `kubernetes.URL`.
    Opaque(&'static str),
}

impl Type {
    /// What a schema is for CEL; `None` for what rules cannot see.
    pub fn of(schema: &Value, resource: bool) -> Option<Self> {
        if schema["x-kubernetes-int-or-string"] == json!(true) {
            return Some(Self::Dyn);
        }
        let embedded = |schema: &Value| schema["x-kubernetes-embedded-resource"] == json!(true);
        let inner = |schema: &Value| Self::of(schema, embedded(schema)).map(Box::new);
        match schema["type"].as_str()? {
            "array" => Some(Self::List(inner(&schema["items"])?)),
            "object" if schema["additionalProperties"].is_object() => Some(Self::Map(
                Box::new(Self::String),
                inner(&schema["additionalProperties"])?,
            )),
            "object" => Some(Self::Object(fields(schema, resource))),
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

    /// Whether a value of one can stand where the other is wanted.
    #[allow(clippy::match_same_arms, reason = "a table")]
    pub fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) => true,
            (
                Self::Null,
                Self::Object(_)
                | Self::Timestamp
                | Self::Duration
                | Self::Opaque(_)
                | Self::Optional(_),
            )
            | (
                Self::Object(_)
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

    /// The one type of both, or anything.
    pub fn join(self, other: &Self) -> Self {
        if self == *other { self } else { Self::Dyn }
    }
}

fn fields(schema: &Value, resource: bool) -> BTreeMap<String, Type> {
    let mut fields = BTreeMap::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let kind = Type::of(
            field,
            field["x-kubernetes-embedded-resource"] == json!(true),
        );
        if let (Some(name), Some(kind)) = (escaped(name), kind) {
            fields.insert(name, kind);
        }
    }
    if resource {
        let names = [("name", Type::String), ("generateName", Type::String)];
        let meta = names.map(|(name, kind)| (name.to_owned(), kind)).into();
        fields.insert("metadata".to_owned(), Type::Object(meta));
        fields.insert("apiVersion".to_owned(), Type::String);
        fields.insert("kind".to_owned(), Type::String);
    }
    fields
}

/// A field's name as CEL can write it; `None` if it cannot.
pub fn escaped(name: &str) -> Option<String> {
    const RESERVED: [&str; 18] = [
        "true",
        "false",
        "null",
        "in",
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
    ];
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let tame = |letter: char| letter.is_ascii_alphanumeric() || "_-./".contains(letter);
    let start = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    let text = name.replace("__", "__underscores__");
    let text = text
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    (start && name.chars().all(tame)).then_some(text)
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
            Self::Object(_) => "an object",
            Self::Optional(_) => "an optional",
            Self::Opaque(name) => name,
        };
        f.write_str(name)
    }
}
