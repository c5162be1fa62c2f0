//! Macros that bind variables: `list.exists(item, item == 1)`.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, Expr};

/// A macro that binds variables.
pub struct Bound<'a> {
    /// `exists`.
    pub name: &'a str,
    /// One name for the item; or two, the first for the index or key.
    pub names: Vec<&'a str>,
    /// The expressions in the scope of the names.
    pub parts: &'a [IdedExpr],
    /// Whether the expressions and the macro are bools.
    pub is_predicate: bool,
}

impl<'a> Bound<'a> {
    /// Reads a call as a macro on a target; `None` if it is not such a macro.
    pub fn of(call: &'a CallExpr) -> Option<(&'a IdedExpr, Self)> {
        const PREDICATES: [&str; 4] = ["all", "exists", "existsOne", "exists_one"];
        const OTHERS: [&str; 6] = [
            "transformList",
            "transformMap",
            "transformMapEntry",
            "optMap",
            "optFlatMap",
            "sortBy",
        ];
        let target = call.target.as_deref()?;
        let name = call.func_name.as_str();
        let is_predicate = PREDICATES.contains(&name);
        if !is_predicate && !OTHERS.contains(&name) || call.args.len() < 2 {
            return None;
        }
        let count = if call.args.len() == 2 { 1 } else { 2 };
        let (names, parts) = call.args.split_at(count);
        let names = names.iter().map(ident).collect::<Option<Vec<_>>>()?;
        let bound = Self {
            name,
            names,
            parts,
            is_predicate,
        };
        Some((target, bound))
    }
}

fn ident(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Ident(name) => Some(name),
        _ => None,
    }
}
