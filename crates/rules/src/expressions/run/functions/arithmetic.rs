//! Operators on numbers, and `+` on strings and lists.

use super::super::super::data::Data;
use super::super::super::outcome::{Outcome, Stop, failed};

/// The result of `_+_`, `_-_`, `_*_`, `_/_` or `_%_`.
pub fn arithmetic(name: &str, a: &Data, b: &Data) -> Outcome {
    match (a, b) {
        (Data::Int(_), Data::Int(0)) if name == "_/_" => failed("division by zero"),
        (Data::Int(_), Data::Int(0)) if name == "_%_" => failed("modulus by zero"),
        (Data::Int(a), Data::Int(b)) => {
            let result = match name {
                "_+_" => a.checked_add(*b),
                "_-_" => a.checked_sub(*b),
                "_*_" => a.checked_mul(*b),
                "_/_" => a.checked_div(*b),
                _ => a.checked_rem(*b),
            };
            result.map_or_else(
                || failed("integer overflow"),
                |number| Ok(Data::Int(number)),
            )
        }
        (Data::Double(a), Data::Double(b)) => Ok(Data::Double(match name {
            "_+_" => a + b,
            "_-_" => a - b,
            "_*_" => a * b,
            "_/_" => a / b,
            _ => return Err(Stop::Unknown),
        })),
        (Data::Text(a), Data::Text(b)) if name == "_+_" => Ok(Data::text(&format!("{a}{b}"))),
        (Data::List(a), Data::List(b)) if name == "_+_" && !a.merged && !b.merged => Ok(
            Data::list(a.items.iter().chain(&b.items).cloned().collect()),
        ),
        _ => Err(Stop::Unknown),
    }
}
