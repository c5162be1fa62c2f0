//! Operators and functions of cel-go and Kubernetes' libraries, with their errors. Functions that are not implemented here have an unknown result.

mod arithmetic;
mod network;

use std::cmp::Ordering;

use arithmetic::arithmetic;

use super::super::super::re2;
use super::super::data::{Data, equal, order};
use super::super::outcome::{Outcome, Stop, failed};
use super::super::parse::unquoted;

fn known(value: Option<Data>) -> Outcome {
    value.ok_or(Stop::Unknown)
}

/// `on.name`.
pub fn field(on: &Data, name: &str) -> Outcome {
    match on {
        Data::Map(fields) => match fields.get(name) {
            Some(value) => Ok(value.clone()),
            None => failed(format!("no such key: {name}")),
        },
        Data::Null => failed(format!("no such key: {name}")),
        Data::Optional(_) => optional_field(on, name),
        _ => Err(Stop::Unknown),
    }
}

/// `on.?name`.
fn optional_field(on: &Data, name: &str) -> Outcome {
    match on {
        Data::Map(fields) => Ok(Data::Optional(fields.get(name).cloned().map(Into::into))),
        Data::Optional(None) => Ok(Data::Optional(None)),
        Data::Optional(Some(inner)) => optional_field(inner, name),
        _ => Err(Stop::Unknown),
    }
}

/// Calls an operator (`_+_`), a function, or a method (its receiver is the first argument).
pub fn call(name: &str, arguments: &[Data]) -> Outcome {
    match arguments {
        [Data::Optional(inner)] if name == "hasValue" => Ok(Data::Bool(inner.is_some())),
        [Data::Optional(None)] if name == "value" => failed("optional.none() dereference"),
        [Data::Optional(Some(inner))] if name == "value" => Ok((**inner).clone()),
        [Data::Optional(None), other] if name == "orValue" || name == "or" => Ok(other.clone()),
        [Data::Optional(Some(inner)), _] if name == "orValue" => Ok((**inner).clone()),
        [some @ Data::Optional(Some(_)), _] if name == "or" => Ok(some.clone()),
        [on, Data::Text(field)] if name == "_?._" => optional_field(on, unquoted(field)),
        all if all.iter().any(|one| matches!(one, Data::Unknown)) => Err(Stop::Unknown),
        all => network::call(name, all).unwrap_or_else(|| of_scalars(name, all)),
    }
}

fn of_scalars(name: &str, arguments: &[Data]) -> Outcome {
    match arguments {
        [a] => one(name, a),
        [a, b] => two(name, a, b),
        [Data::Text(text), Data::Text(from), Data::Text(to)] if name == "replace" => {
            Ok(Data::text(&text.replace(&**from, to)))
        }
        [Data::Text(text), Data::Int(start), Data::Int(end)] if name == "substring" => {
            substring(text, *start, Some(*end))
        }
        _ => Err(Stop::Unknown),
    }
}

fn one(name: &str, value: &Data) -> Outcome {
    let whole = |length: usize| {
        i64::try_from(length)
            .map(Data::Int)
            .map_err(|_| Stop::Unknown)
    };
    match (name, value) {
        ("!_", Data::Bool(value)) => Ok(Data::Bool(!value)),
        ("-_", Data::Int(value)) => value
            .checked_neg()
            .map_or_else(|| failed("integer overflow"), |value| Ok(Data::Int(value))),
        ("-_", Data::Double(value)) => Ok(Data::Double(-value)),
        ("size", Data::Text(text)) => whole(text.chars().count()),
        ("size", Data::List(list)) => whole(list.items.len()),
        ("size", Data::Map(map)) => whole(map.len()),
        ("dyn", value) => Ok(value.clone()),
        ("type", value) => known(kind(value).map(Data::Kind)),
        ("string", Data::Text(_))
        | ("int", Data::Int(_))
        | ("double", Data::Double(_))
        | ("bool", Data::Bool(_)) => Ok(value.clone()),
        ("string", Data::Int(number)) => Ok(Data::text(&number.to_string())),
        ("string", Data::Bool(value)) => Ok(Data::text(&value.to_string())),
        #[allow(clippy::cast_precision_loss, reason = "as CEL converts")]
        ("double", Data::Int(number)) => Ok(Data::Double(*number as f64)),
        ("int", Data::Text(text)) => match text.parse() {
            Ok(number) => Ok(Data::Int(number)),
            Err(_) => not_converted("int"),
        },
        ("bool", Data::Text(text)) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Data::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Data::Bool(false)),
            _ => not_converted("bool"),
        },
        ("double", Data::Text(text)) => match text.parse() {
            Ok(number) => Ok(Data::Double(number)),
            // Go also accepts hexadecimal numbers.
            Err(_) if text.contains(['x', 'X']) => Err(Stop::Unknown),
            Err(_) => not_converted("double"),
        },
        ("lowerAscii", Data::Text(text)) => Ok(Data::text(&text.to_ascii_lowercase())),
        ("upperAscii", Data::Text(text)) => Ok(Data::text(&text.to_ascii_uppercase())),
        ("trim", Data::Text(text)) => Ok(Data::text(text.trim())),
        ("join", Data::List(list)) => known(joined(&list.items, "")),
        ("isSorted", Data::List(list)) => {
            let pairs = list.items.windows(2).map(|pair| order(&pair[0], &pair[1]));
            let orders = pairs.collect::<Option<Vec<_>>>().ok_or(Stop::Unknown)?;
            Ok(Data::Bool(orders.iter().all(|order| order.is_le())))
        }
        ("min", Data::List(list)) => extreme(name, &list.items, Ordering::Less),
        ("max", Data::List(list)) => extreme(name, &list.items, Ordering::Greater),
        // For an empty list of doubles it is 0.0, which is equal.
        ("sum", Data::List(list)) => match list.items.split_first() {
            Some((first, rest)) => rest
                .iter()
                .try_fold(first.clone(), |sum, item| arithmetic("_+_", &sum, item)),
            None => Ok(Data::Int(0)),
        },
        _ => Err(Stop::Unknown),
    }
}

fn two(name: &str, a: &Data, b: &Data) -> Outcome {
    let bool = |value| Ok(Data::Bool(value));
    match (name, a, b) {
        ("_==_", a, b) => known(equal(a, b).map(Data::Bool)),
        ("_!=_", a, b) => known(equal(a, b).map(|same| Data::Bool(!same))),
        ("_<_", a, b) => known(order(a, b).map(|order| Data::Bool(order.is_lt()))),
        ("_<=_", a, b) => known(order(a, b).map(|order| Data::Bool(order.is_le()))),
        ("_>_", a, b) => known(order(a, b).map(|order| Data::Bool(order.is_gt()))),
        ("_>=_", a, b) => known(order(a, b).map(|order| Data::Bool(order.is_ge()))),
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", a, b) => arithmetic(name, a, b),
        ("@in" | "_in_", item, Data::List(list)) => {
            let found: Vec<Option<bool>> =
                list.items.iter().map(|known| equal(item, known)).collect();
            match (found.contains(&Some(true)), found.contains(&None)) {
                (true, _) => bool(true),
                (false, true) => Err(Stop::Unknown),
                (false, false) => bool(false),
            }
        }
        ("@in" | "_in_", Data::Text(key), Data::Map(map)) => bool(map.contains_key(&**key)),
        ("_[_]", Data::List(list), Data::Int(at)) => {
            let item = usize::try_from(*at).ok().and_then(|at| list.items.get(at));
            item.cloned()
                .map_or_else(|| failed(format!("index out of bounds: {at}")), Ok)
        }
        ("_[_]", Data::Map(_), Data::Text(key)) => field(a, key),
        ("_[?_]", Data::List(list), Data::Int(at)) => {
            let item = usize::try_from(*at).ok().and_then(|at| list.items.get(at));
            Ok(Data::Optional(item.cloned().map(Into::into)))
        }
        ("_[_]" | "_[?_]", Data::Optional(None), _) => Ok(Data::Optional(None)),
        ("_[_]" | "_[?_]", Data::Optional(Some(inner)), key) => two("_[?_]", inner, key),
        ("_[?_]", Data::Map(_), Data::Text(key)) => optional_field(a, key),
        ("contains", Data::Text(text), Data::Text(part)) => bool(text.contains(&**part)),
        ("startsWith", Data::Text(text), Data::Text(part)) => bool(text.starts_with(&**part)),
        ("endsWith", Data::Text(text), Data::Text(part)) => bool(text.ends_with(&**part)),
        ("matches", Data::Text(text), Data::Text(pattern)) => {
            known(re2::matches(pattern, text).map(Data::Bool))
        }
        ("indexOf", Data::Text(text), Data::Text(part)) => {
            let at = text.find(&**part).map(|at| text[..at].chars().count());
            let at = at.map_or(Some(-1), |at| i64::try_from(at).ok());
            known(at.map(Data::Int))
        }
        ("substring", Data::Text(text), Data::Int(start)) => substring(text, *start, None),
        ("split", Data::Text(text), Data::Text(part)) => Ok(Data::list(match &**part {
            "" => text
                .chars()
                .map(|character| Data::text(character.encode_utf8(&mut [0; 4])))
                .collect(),
            part => text.split(part).map(Data::text).collect(),
        })),
        ("join", Data::List(list), Data::Text(between)) => known(joined(&list.items, between)),
        _ => Err(Stop::Unknown),
    }
}

fn kind(value: &Data) -> Option<&'static str> {
    Some(match value {
        Data::Null => "null_type",
        Data::Bool(_) => "bool",
        Data::Int(_) => "int",
        Data::Double(_) => "double",
        Data::Text(_) => "string",
        Data::List(_) => "list",
        // The type of an object is not modelled.
        _ => return None,
    })
}

/// By characters, not bytes.
fn substring(text: &str, start: i64, end: Option<i64>) -> Outcome {
    let characters: Vec<char> = text.chars().collect();
    let place = |at: i64| usize::try_from(at).ok();
    let given = end;
    let end = end.map_or(Some(characters.len()), place);
    let part = place(start)
        .zip(end)
        .and_then(|(start, end)| characters.get(start..end));
    match part {
        Some(part) => Ok(Data::text(&part.iter().collect::<String>())),
        None => failed(out_of_range(start, given, characters.len())),
    }
}

fn out_of_range(start: i64, end: Option<i64>, length: usize) -> String {
    let is_in = |at: i64| usize::try_from(at).is_ok_and(|at| at <= length);
    match end {
        Some(end) if is_in(start) && is_in(end) => {
            format!("invalid substring range. start: {start}, end: {end}")
        }
        Some(end) if is_in(start) => format!("index out of range: {end}"),
        _ => format!("index out of range: {start}"),
    }
}

fn not_converted(to: &str) -> Outcome {
    failed(format!("type conversion error from 'string' to '{to}'"))
}

fn joined(items: &[Data], between: &str) -> Option<Data> {
    let text = |item: &Data| match item {
        Data::Text(text) => Some(text.to_string()),
        _ => None,
    };
    let texts: Option<Vec<String>> = items.iter().map(text).collect();
    Some(Data::text(&texts?.join(between)))
}

fn extreme(name: &str, items: &[Data], wanted: Ordering) -> Outcome {
    let Some((first, rest)) = items.split_first() else {
        return failed(format!("{name} called on empty list"));
    };
    let mut best = first;
    for item in rest {
        if order(item, best).ok_or(Stop::Unknown)? == wanted {
            best = item;
        }
    }
    Ok(best.clone())
}
