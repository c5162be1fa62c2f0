//! Infers the type of an expression, or explains why it has none. In doubt it accepts expressions that the API server may reject.

use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr};

use super::bound::Bound;
use super::constants;
use super::functions::ALL;
use super::inferred::{Cause, Inferred, TypeError, field};
use super::operators::operator;
use super::overload::overload;
use super::parse::unquoted;
use super::scope::Scope;
use super::types::Type;

/// Infers the types of expressions within a scope.
pub struct Checker {
    scope: Scope,
}

impl Checker {
    /// For a rule on values of type `root`.
    #[must_use]
    pub fn new(root: &Type, optional: bool) -> Self {
        let old = if optional {
            Type::Optional(Arc::new(root.clone()))
        } else {
            root.clone()
        };
        Self::with_names([("self", root.clone()), ("oldSelf", old)])
    }

    /// For an expression with these names in scope.
    #[must_use]
    pub fn with_names<const N: usize>(names: [(&str, Type); N]) -> Self {
        let scope = Scope::new(names);
        Self { scope }
    }

    /// Whether `oldSelf` is used.
    #[must_use]
    pub fn uses_old(&self) -> bool {
        self.scope.uses_old()
    }

    /// The type of an expression.
    pub fn infer(&mut self, expression: &IdedExpr) -> Inferred {
        match &expression.expr {
            Expr::Literal(literal) => Ok(match literal {
                LiteralValue::Boolean(_) => Type::Bool,
                LiteralValue::Bytes(_) => Type::Bytes,
                LiteralValue::Double(_) => Type::Double,
                LiteralValue::Int(_) => Type::Int,
                LiteralValue::Null => Type::Null,
                LiteralValue::String(_) => Type::String,
                LiteralValue::UInt(_) => Type::UInt,
            }),
            Expr::Ident(name) => self.scope.name(name),
            Expr::Select(select) => Ok(self.select(select)?.0),
            Expr::List(list) => {
                let optional = |position| list.optional_indices.contains(&position);
                let items = list.elements.iter().enumerate();
                let items = items.map(|(position, item)| (item, optional(position)));
                Ok(Type::List(Arc::new(self.common(items)?)))
            }
            Expr::Map(map) => {
                let entries = || {
                    map.entries.iter().filter_map(|entry| match &entry.expr {
                        EntryExpr::MapEntry(entry) => Some(entry),
                        EntryExpr::StructField(_) => None,
                    })
                };
                let keys = self.common(entries().map(|entry| (&entry.key, false)))?;
                let values = entries().map(|entry| (&entry.value, entry.optional));
                Ok(Type::Map(Arc::new(keys), Arc::new(self.common(values)?)))
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Call(call) => self.call(call),
            Expr::Struct(_) | Expr::Unspecified => Ok(Type::Dyn),
        }
    }

    /// The type of the items of a list, or of the keys or values of a map. With each item, whether it may be missing.
    fn common<'a>(&mut self, items: impl Iterator<Item = (&'a IdedExpr, bool)>) -> Inferred {
        let (mut kinds, mut open) = (Vec::new(), false);
        for (item, optional) in items {
            let (kind, is_open) = self.item(item)?;
            kinds.push(given(kind, optional));
            open |= is_open;
        }
        if let Some(other) = kinds.iter().find(|kind| open && **kind != Type::Dyn) {
            let text = format!("a value of any type and {other} cannot be in one list or map");
            return Err(text.into());
        }
        joined(kinds)
    }

    /// The type of an item, and whether it is a field of any type (an `IntOrString`). Elsewhere this type means that the type is unknown.
    fn item(&mut self, expression: &IdedExpr) -> Result<(Type, bool), TypeError> {
        match &expression.expr {
            Expr::Select(select) => self.select(select),
            _ => Ok((self.infer(expression)?, false)),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Result<(Type, bool), TypeError> {
        let on = self.infer(&select.operand)?;
        let found = field(&on, unquoted(&select.field))?;
        let is_open = matches!(on, Type::Object(..)) && found == Type::Dyn;
        Ok((if select.test { Type::Bool } else { found }, is_open))
    }

    fn within<T>(&mut self, names: &[(&str, Type)], inside: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.enter(names);
        let result = inside(self);
        self.scope.leave(outer);
        result
    }

    /// A macro such as `all`: a range and an accumulator.
    fn comprehension(&mut self, macros: &ComprehensionExpr) -> Inferred {
        let range = self.infer(&macros.iter_range)?;
        let item = match range {
            Type::List(item) => (*item).clone(),
            Type::Map(key, _) => (*key).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                return Err(
                    format!("only lists and maps can be iterated over, not {other}").into(),
                );
            }
        };
        let start = self.infer(&macros.accu_init)?;
        let names = [
            (macros.iter_var.as_str(), item),
            (macros.accu_var.as_str(), start.clone()),
        ];
        let step = self.within(&names, |inner| {
            inner.infer(&macros.loop_cond)?;
            inner.infer(&macros.loop_step)
        })?;
        let kept = if let (Type::List(_), Type::List(_)) = (&start, &step) {
            step
        } else {
            start
        };
        self.within(&[(macros.accu_var.as_str(), kept)], |inner| {
            inner.infer(&macros.result)
        })
    }

    fn call(&mut self, call: &CallExpr) -> Inferred {
        if let Some((target, bound)) = Bound::of(call) {
            return self.bound(target, &bound);
        }
        let name = call.func_name.as_str();
        let namespace = call
            .target
            .as_deref()
            .and_then(|target| match &target.expr {
                Expr::Ident(space) => Some(format!("{space}.{name}")),
                _ => None,
            });
        let namespace = namespace.filter(|full| ALL.iter().any(|function| function.name == full));
        let mut on = None;
        if namespace.is_none() {
            let target = call.target.as_deref();
            on = target.map(|target| self.receiver(target)).transpose()?;
        }
        let arguments = call
            .args
            .iter()
            .map(|argument| self.infer(argument))
            .collect::<Result<Vec<_>, _>>()?;
        if name.starts_with(|character: char| !character.is_alphabetic()) {
            return operator(name, &arguments, &call.args);
        }
        constants::check(name, &call.args)?;
        overload(namespace.as_deref().unwrap_or(name), on, &arguments)
    }

    /// The receiver of a call. An unknown name is treated as a library of functions.
    fn receiver(&mut self, target: &IdedExpr) -> Inferred {
        let inferred = self.infer(target);
        inferred.map_err(|error| match (&target.expr, error.cause) {
            (Expr::Ident(_), Cause::UnknownVariable) => Cause::UnknownFunction.error(error.message),
            _ => error,
        })
    }

    /// The type of a macro that binds variables.
    fn bound(&mut self, target: &IdedExpr, bound: &Bound) -> Inferred {
        let kinds = match (self.infer(target)?, bound.names.len()) {
            (Type::List(item), 2) => [Type::Int, (*item).clone()],
            (Type::Map(key, value), _) => [(*key).clone(), (*value).clone()],
            (Type::List(item) | Type::Optional(item), _) => [(*item).clone(), Type::Dyn],
            _ => [Type::Dyn, Type::Dyn],
        };
        let names = bound.names.iter().copied().zip(kinds);
        let names: Vec<(&str, Type)> = names.collect();
        self.within(&names, |inner| {
            for part in bound.parts {
                let kind = inner.infer(part)?;
                if bound.is_predicate && !kind.fits(&Type::Bool) {
                    let name = bound.name;
                    return Err(format!("`{name}` takes a bool, not {kind}").into());
                }
            }
            Ok(if bound.is_predicate {
                Type::Bool
            } else {
                Type::Dyn
            })
        })
    }
}

/// The type of `?item`, an item that may be missing.
fn given(kind: Type, optional: bool) -> Type {
    match kind {
        Type::Optional(inner) if optional => (*inner).clone(),
        kind => kind,
    }
}

/// The type of all items.
fn joined(kinds: Vec<Type>) -> Inferred {
    let mut kinds = kinds.into_iter();
    let first = kinds.next().unwrap_or(Type::Dyn);
    kinds.try_fold(first, |all, next| {
        if all.differs(&next) {
            return Err(format!("{all} and {next} cannot be in one list or map").into());
        }
        Ok(all.join(&next))
    })
}
