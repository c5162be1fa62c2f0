//! The types of operators.

use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::{Expr, LiteralValue};

use super::inferred::{Inferred, field};
use super::parse::unquoted;
use super::types::Type;

/// The type of an operation (`_+_`), or an error. `written` holds the operands as expressions.
#[allow(
    clippy::match_same_arms,
    reason = "a table, in the order of the operators"
)]
pub fn operator(name: &str, arguments: &[Type], written: &[IdedExpr]) -> Inferred {
    use Type::{
        Bool, Bytes, Double, Duration, Dyn, Int, List, Map, Optional, String, Timestamp, UInt,
    };
    let sign = name
        .trim_matches('_')
        .trim_start_matches('@')
        .replace('_', " ");
    let rejected = || {
        let shown: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        Err(format!(
            "no overload of `{}` takes {}",
            sign.trim(),
            shown.join(" and ")
        )
        .into())
    };
    let result = match (name, arguments) {
        ("_&&_" | "_||_", [a, b]) if a.fits(&Bool) && b.fits(&Bool) => Bool,
        ("!_" | "@not_strictly_false", [a]) if a.fits(&Bool) => Bool,
        ("_?_:_", [a, b, c]) if a.fits(&Bool) && b.fits(c) => {
            if *b == Dyn {
                Dyn
            } else {
                b.clone().join(c)
            }
        }
        ("_==_" | "_!=_", [a, b]) if a.fits(b) => Bool,
        ("_==_" | "_!=_", [Type::Object(..), Type::Object(..)]) => {
            let text = "objects at different paths have different types: compare their fields";
            return Err(text.to_owned().into());
        }
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
            let numbers = |kind: &Type| matches!(kind, Int | UInt | Double | Dyn);
            let ordered =
                |kind: &Type| matches!(kind, Bool | String | Bytes | Timestamp | Duration | Dyn);
            if numbers(a) && numbers(b) || ordered(a) && ordered(b) && a.fits(b) {
                Bool
            } else {
                return rejected();
            }
        }
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [Dyn, other] | [other, Dyn])
            if !matches!(other, Bool | Map(..) | Type::Object(..) | Type::Null) =>
        {
            Dyn
        }
        ("_+_" | "_-_" | "_*_" | "_/_", [Double, Double]) => Double,
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [Int, Int]) => Int,
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [UInt, UInt]) => UInt,
        ("_+_", [String, String]) => String,
        ("_+_", [Bytes, Bytes]) => Bytes,
        ("_+_", [List(a), List(b)]) if a.fits(b) => {
            List(if **a == Dyn { b.clone() } else { a.clone() })
        }
        ("_+_", [Timestamp, Duration] | [Duration, Timestamp]) | ("_-_", [Timestamp, Duration]) => {
            Timestamp
        }
        ("_+_" | "_-_", [Duration, Duration]) | ("_-_", [Timestamp, Timestamp]) => Duration,
        ("-_", [a @ (Int | Double | Dyn)]) => a.clone(),
        ("@in" | "_in_", [a, List(b)]) if a.fits(b) => Bool,
        ("@in" | "_in_", [a, Map(b, _)]) if a.fits(b) => Bool,
        ("@in" | "_in_", [_, Dyn]) => Bool,
        ("_[_]", [List(a), Int | Dyn]) => (**a).clone(),
        ("_[_]", [Map(a, b), c]) if c.fits(a) => (**b).clone(),
        ("_[_]" | "_[?_]", [Dyn | Optional(_), _]) => Dyn,
        ("_[?_]", [List(a), Int | Dyn]) => Optional(a.clone()),
        ("_[?_]", [Map(a, b), c]) if c.fits(a) => Optional(b.clone()),
        ("_?._", [on, _]) => {
            let name = match written.get(1).map(|name| &name.expr) {
                Some(Expr::Literal(LiteralValue::String(name))) => name.inner().to_owned(),
                _ => return Ok(Dyn),
            };
            match field(on, unquoted(&name))? {
                inner @ Optional(_) => inner,
                inner => Optional(Arc::new(inner)),
            }
        }
        _ => return rejected(),
    };
    Ok(result)
}
