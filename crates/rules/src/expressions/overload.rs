//! Resolves the overloads of functions and methods.

use std::sync::Arc;

use super::super::nearest::nearest;
use super::functions::{ALL, Function};
use super::inferred::{Cause, Inferred};
use super::types::Type;

/// The result type of the overload for these arguments; `Dyn` accepts lists, maps and optionals.
pub fn overload(name: &str, on: Option<Type>, arguments: &[Type]) -> Inferred {
    let mut known = ALL.iter().filter(|it| it.name == name).peekable();
    if known.peek().is_none() {
        let near = nearest(name, ALL.iter().map(|function| function.name));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`"));
        return Err(Cause::UnknownFunction.error(format!("unknown function `{name}`{near}")));
    }
    let fitting = known.find(|function| fits(function, on.as_ref(), arguments));
    match fitting {
        Some(function) if agree(name, on.as_ref(), arguments) => {
            Ok(result(function, on, arguments))
        }
        _ => {
            let all = on.iter().chain(arguments);
            let shown: Vec<_> = all.map(ToString::to_string).collect();
            let shown = Some(shown.join(" and ")).filter(|shown| !shown.is_empty());
            let shown = shown.unwrap_or_else(|| "no arguments".to_owned());
            Err(Cause::UnknownOverload.error(format!("no overload of `{name}` takes {shown}")))
        }
    }
}

fn fits(function: &Function, on: Option<&Type>, arguments: &[Type]) -> bool {
    let name = function.name;
    let receiver = match (&function.on, on) {
        (Some(wanted), Some(given)) => {
            takes(name, wanted, given) && (*wanted != Type::Dyn || !scalar(name, given))
        }
        (None, None) => true,
        _ => false,
    };
    let mut pairs = function.arguments.iter().zip(arguments);
    receiver
        && function.arguments.len() == arguments.len()
        && pairs.all(|(wanted, given)| takes(name, wanted, given))
}

/// `size` is listed with `Dyn` in the table, but accepts only types that have a size.
fn takes(name: &str, wanted: &Type, given: &Type) -> bool {
    let sizeless = matches!(
        given,
        Type::Int
            | Type::UInt
            | Type::Double
            | Type::Bool
            | Type::Timestamp
            | Type::Duration
            | Type::Object(..)
            | Type::Null
    );
    given.fits(wanted) && !(name == "size" && sizeless)
}

/// The result type of a call; it may depend on the receiver.
fn result(function: &Function, on: Option<Type>, arguments: &[Type]) -> Type {
    match (function.name, on) {
        ("orValue" | "value", Some(Type::Optional(inner))) => (*inner).clone(),
        ("or" | "distinct" | "reverse" | "sort" | "slice", Some(kind)) => kind,
        ("sum" | "min" | "max", Some(Type::List(item))) => (*item).clone(),
        ("first" | "last", Some(Type::List(item))) => Type::Optional(item),
        ("split" | "findAll", Some(_)) => Type::List(Arc::new(Type::String)),
        ("optional.of" | "optional.ofNonZeroValue", _) => {
            Type::Optional(Arc::new(arguments.first().cloned().unwrap_or(Type::Dyn)))
        }
        _ => function.result.clone(),
    }
}

/// Whether the type is a scalar, which has no methods of lists, although `Dyn` accepts it.
fn scalar(name: &str, kind: &Type) -> bool {
    let scalar = matches!(
        kind,
        Type::Bool
            | Type::Int
            | Type::UInt
            | Type::Double
            | Type::String
            | Type::Null
            | Type::Object(..)
    );
    scalar && !(name == "size" && *kind == Type::String)
}

/// Methods of lists; strings have some of them too.
const OF_LISTS: [&str; 15] = [
    "distinct",
    "first",
    "flatten",
    "indexOf",
    "isSorted",
    "join",
    "last",
    "lastIndexOf",
    "max",
    "min",
    "reverse",
    "slice",
    "sort",
    "sortBy",
    "sum",
];

/// Checks the types that are `Dyn` in the table.
fn agree(name: &str, on: Option<&Type>, arguments: &[Type]) -> bool {
    use Type::{
        Bool, Bytes, Double, Duration, Dyn, Int, List, Map, Optional, String, Timestamp, UInt,
    };
    match (name, on, arguments) {
        (_, Some(Map(..)), _) => name == "size",
        (_, Some(Bytes | Duration | Timestamp | Type::Kind | Type::Opaque(_)), _) => {
            !OF_LISTS.contains(&name)
        }
        ("sum", Some(List(item)), _) => matches!(**item, Int | UInt | Double | Duration | Dyn),
        ("min" | "max" | "isSorted" | "sort", Some(List(item)), _) => matches!(
            **item,
            Bool | Int | UInt | Double | String | Bytes | Duration | Timestamp | Dyn
        ),
        ("flatten", Some(List(item)), []) => matches!(**item, List(_) | Dyn),
        ("join", Some(List(item)), _) => matches!(**item, String | Dyn),
        ("indexOf" | "lastIndexOf", Some(List(item)), [part]) => part.fits(item),
        ("orValue", Some(Optional(inner)), [other]) => other.fits(inner),
        ("or", Some(on), [other]) => on.fits(other),
        ("sets.contains" | "sets.equivalent" | "sets.intersects", _, [a, b]) => a.fits(b),
        _ => true,
    }
}
