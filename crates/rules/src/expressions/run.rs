//! Evaluates an expression: the result is the same as in the API server, or unknown.

mod functions;

use std::cell::Cell;
use std::collections::BTreeMap;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr};

use super::data::Data;
use super::outcome::{Outcome, Stop};
use super::parse::unquoted;

/// Names in scope, the innermost last. Their evaluation may have failed, because a macro continues after an error.
pub struct Run<'a> {
    scope: Vec<(&'a str, Outcome)>,
    /// The remaining steps, so that the evaluation terminates.
    steps: usize,
}

/// The steps of one expression. The API server counts its costs, and a rule of which it accepts the estimate needs fewer.
const MOST: usize = 1_000_000;

impl<'a> Run<'a> {
    pub fn new(names: Vec<(&'a str, Data)>) -> Self {
        let scope = names.into_iter().map(|(name, value)| (name, Ok(value)));
        Self {
            scope: scope.collect(),
            steps: MOST,
        }
    }

    /// Evaluates an expression with some of the steps that all expressions share.
    pub fn shared(
        names: Vec<(&'a str, Data)>,
        expression: &'a IdedExpr,
        steps: &Cell<usize>,
    ) -> Outcome {
        let mut run = Self::new(names);
        let given = run.steps.min(steps.get());
        run.steps = given;
        let value = run.value(expression);
        steps.set(steps.get() - (given - run.steps));
        value
    }

    fn pay(&mut self, steps: usize) -> Result<(), Stop> {
        self.steps = self.steps.checked_sub(steps).ok_or(Stop::Unknown)?;
        Ok(())
    }

    /// The value of an expression.
    pub fn value(&mut self, expression: &'a IdedExpr) -> Outcome {
        self.pay(1)?;
        match &expression.expr {
            Expr::Literal(literal) => Ok(constant(literal)),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select),
            Expr::List(list) if list.optional_indices.is_empty() => {
                self.values(&list.elements).map(Data::list)
            }
            Expr::Map(map) => {
                let mut entries = BTreeMap::new();
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else {
                        return Err(Stop::Unknown);
                    };
                    match self.value(&entry.key)? {
                        Data::Text(key) if !entry.optional => {
                            entries.insert(key.to_string(), self.value(&entry.value)?)
                        }
                        _ => return Err(Stop::Unknown),
                    };
                }
                Ok(Data::Map(entries.into()))
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Call(call) => self.call(call),
            Expr::List(_) | Expr::Struct(_) | Expr::Unspecified => Err(Stop::Unknown),
        }
    }

    fn values(&mut self, expressions: &'a [IdedExpr]) -> Result<Vec<Data>, Stop> {
        expressions
            .iter()
            .map(|expression| self.value(expression))
            .collect()
    }

    fn name(&self, name: &str) -> Outcome {
        if let Some((_, value)) = self.scope.iter().rev().find(|(known, _)| *known == name) {
            return value.clone();
        }
        let kinds = [
            "bool",
            "double",
            "int",
            "list",
            "map",
            "null_type",
            "string",
        ];
        let kind = kinds.into_iter().find(|kind| *kind == name);
        kind.map(Data::Kind).ok_or(Stop::Unknown)
    }

    fn select(&mut self, select: &'a SelectExpr) -> Outcome {
        let on = self.value(&select.operand)?;
        if !select.test {
            return functions::field(&on, unquoted(&select.field));
        }
        match on {
            Data::Map(fields) => Ok(Data::Bool(fields.contains_key(unquoted(&select.field)))),
            Data::Null => Ok(Data::Bool(false)),
            _ => Err(Stop::Unknown),
        }
    }

    /// Evaluates with more names in scope.
    fn within(&mut self, names: Vec<(&'a str, Outcome)>, expression: &'a IdedExpr) -> Outcome {
        let outer = self.scope.len();
        self.scope.extend(names);
        let value = self.value(expression);
        self.scope.truncate(outer);
        value
    }

    /// A macro such as `all`: folds the items into an accumulator.
    fn comprehension(&mut self, macros: &'a ComprehensionExpr) -> Outcome {
        let start = self.value(&macros.accu_init);
        let items = match self.value(&macros.iter_range)? {
            Data::List(list) => {
                self.pay(list.items.len())?;
                list.items.clone()
            }
            // The order of keys is random, which only matters for lists.
            Data::Map(map) if !matches!(start, Ok(Data::List(_))) => {
                map.keys().map(|key| Data::text(key)).collect()
            }
            _ => return Err(Stop::Unknown),
        };
        if macros.iter_var2.is_some() {
            return Err(Stop::Unknown);
        }
        let mut gathered = start;
        for item in items {
            let so_far = || (macros.accu_var.as_str(), gathered.clone());
            if let Ok(Data::Bool(false)) = self.within(vec![so_far()], &macros.loop_cond) {
                break;
            }
            let names = vec![so_far(), (macros.iter_var.as_str(), Ok(item))];
            gathered = self.within(names, &macros.loop_step);
        }
        self.within(vec![(&macros.accu_var, gathered)], &macros.result)
    }

    fn call(&mut self, call: &'a CallExpr) -> Outcome {
        let target = call.target.as_deref();
        let space = target.and_then(|target| match &target.expr {
            Expr::Ident(name) => Some(name.as_str()),
            _ => None,
        });
        match (space, call.func_name.as_str(), call.args.as_slice()) {
            (_, "_&&_", [a, b]) => self.either(a, b, false),
            (_, "_||_", [a, b]) => self.either(a, b, true),
            (_, "_?_:_", [condition, yes, no]) => match self.value(condition)? {
                Data::Bool(true) => self.value(yes),
                Data::Bool(false) => self.value(no),
                _ => Err(Stop::Unknown),
            },
            (_, "@not_strictly_false", [a]) => {
                Ok(Data::Bool(!matches!(self.value(a), Ok(Data::Bool(false)))))
            }
            (Some("optional"), "none", []) => Ok(Data::Optional(None)),
            (Some("optional"), "of", [value]) => {
                Ok(Data::Optional(Some(self.value(value)?.into())))
            }
            (_, name, arguments) => {
                let mut all = Vec::new();
                if let Some(target) = target {
                    all.push(self.value(target)?);
                }
                all.extend(self.values(arguments)?);
                self.pay(weight(name, &all))?;
                functions::call(name, &all)
            }
        }
    }

    /// `&&` and `||`: one operand can decide the result (`a || true`), even if the other fails.
    fn either(&mut self, a: &'a IdedExpr, b: &'a IdedExpr, decisive: bool) -> Outcome {
        let a = self.value(a);
        if matches!(a, Ok(Data::Bool(value)) if value == decisive) {
            return a;
        }
        let b = self.value(b);
        match (a, b) {
            (_, Ok(Data::Bool(value))) if value == decisive => Ok(Data::Bool(value)),
            (Ok(Data::Bool(_)), Ok(Data::Bool(value))) => Ok(Data::Bool(value)),
            (Err(Stop::Failed(why)), Ok(Data::Bool(_)) | Err(Stop::Failed(_)))
            | (Ok(Data::Bool(_)), Err(Stop::Failed(why))) => Err(Stop::Failed(why)),
            _ => Err(Stop::Unknown),
        }
    }
}

/// The steps of a call: more for long texts and lists, and for long results.
fn weight(name: &str, arguments: &[Data]) -> usize {
    const TEXT: usize = 16;
    let of_result = match (name, arguments) {
        ("replace", [Data::Text(text), Data::Text(from), Data::Text(to)]) => {
            (text.len() / from.len().max(1) + 1).saturating_mul(to.len())
        }
        ("join", [Data::List(list), between @ ..]) => {
            let between = between.iter().map(Data::length).sum::<usize>() + 1;
            let items = list.items.iter().map(Data::length).sum::<usize>();
            list.items
                .len()
                .saturating_mul(between)
                .saturating_add(items)
        }
        ("_==_" | "_!=_" | "@in" | "_in_", all) => all.iter().map(Data::size).sum(),
        _ => 0,
    };
    let length = |argument: &Data| match argument {
        Data::Text(text) => text.len() / TEXT,
        other => other.length(),
    };
    (of_result / TEXT).saturating_add(arguments.iter().map(length).sum())
}

fn constant(literal: &LiteralValue) -> Data {
    match literal {
        LiteralValue::Boolean(value) => Data::Bool(*value.inner()),
        LiteralValue::Double(value) => Data::Double(*value.inner()),
        LiteralValue::Int(value) => Data::Int(*value.inner()),
        LiteralValue::String(value) => Data::text(value.inner()),
        LiteralValue::Null => Data::Null,
        LiteralValue::Bytes(_) | LiteralValue::UInt(_) => Data::Unknown,
    }
}
