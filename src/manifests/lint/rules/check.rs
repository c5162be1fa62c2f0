//! The type of an expression, or why it has none. Where this cannot tell, it lets through what the API server may refuse.

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr};

use super::functions::ALL;
use super::types::Type;
use crate::manifests::problem::nearest;

/// Names that are in sight, the innermost last, and what was seen.
pub struct Checker {
    scope: Vec<(String, Type)>,
    /// How many of them are there from the beginning.
    given: usize,
    /// Whether `oldSelf` is used.
    pub uses_old: bool,
}

type Inferred = Result<Type, String>;

impl Checker {
    /// For a rule about values of type `root`.
    pub fn new(root: &Type, optional: bool) -> Self {
        let old = if optional {
            Type::Optional(Box::new(root.clone()))
        } else {
            root.clone()
        };
        Self::seeing([("self", root.clone()), ("oldSelf", old)])
    }

    /// For an expression that sees these names.
    pub fn seeing<const N: usize>(scope: [(&str, Type); N]) -> Self {
        Self {
            scope: scope.map(|(name, kind)| (name.to_owned(), kind)).into(),
            given: N,
            uses_old: false,
        }
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
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => self.select(select),
            Expr::List(list) => {
                let items = list
                    .elements
                    .iter()
                    .map(|item| self.infer(item))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(Type::List(Box::new(joined(items))))
            }
            Expr::Map(map) => {
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        keys.push(self.infer(&entry.key)?);
                        values.push(self.infer(&entry.value)?);
                    }
                }
                Ok(Type::Map(Box::new(joined(keys)), Box::new(joined(values))))
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Call(call) => self.call(call),
            Expr::Struct(_) | Expr::Unspecified => Ok(Type::Dyn),
        }
    }

    fn name(&mut self, name: &str) -> Inferred {
        const KINDS: [&str; 12] = [
            "bool",
            "bytes",
            "double",
            "duration",
            "int",
            "list",
            "map",
            "null_type",
            "string",
            "timestamp",
            "type",
            "uint",
        ];
        if let Some((_, kind)) = self.scope.iter().rev().find(|(known, _)| known == name) {
            self.uses_old |= name == "oldSelf";
            return Ok(kind.clone());
        }
        if KINDS.contains(&name) {
            return Ok(Type::Kind);
        }
        let near = nearest(name, self.scope.iter().map(|(known, _)| known.as_str()));
        let near = near.map_or_else(
            || {
                let given = self.scope[..self.given].iter();
                let given: Vec<_> = given.map(|(name, _)| format!("`{name}`")).collect();
                format!(", only {} and names of its own", given.join(", "))
            },
            |near| format!("; did you mean `{near}`"),
        );
        Err(format!("there is no `{name}`{near}"))
    }

    fn select(&mut self, select: &SelectExpr) -> Inferred {
        let on = self.infer(&select.operand)?;
        let found = field(&on, &select.field)?;
        Ok(if select.test { Type::Bool } else { found })
    }

    fn within<T>(&mut self, names: &[(&str, Type)], inside: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scope.len();
        self.scope.extend(
            names
                .iter()
                .map(|(name, kind)| ((*name).to_owned(), kind.clone())),
        );
        let result = inside(self);
        self.scope.truncate(outer);
        result
    }

    /// A macro such as `all`: a range, and an accumulator that goes through it.
    fn comprehension(&mut self, macros: &ComprehensionExpr) -> Inferred {
        let range = self.infer(&macros.iter_range)?;
        let item = match range {
            Type::List(item) => *item,
            Type::Map(key, _) => *key,
            Type::Dyn => Type::Dyn,
            other => {
                return Err(format!(
                    "{other} cannot be gone through: only lists and maps can"
                ));
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
        if let Some(bound) = self.binding(call) {
            return bound;
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
            on = call
                .target
                .as_deref()
                .map(|target| self.infer(target))
                .transpose()?;
        }
        let arguments = call
            .args
            .iter()
            .map(|argument| self.infer(argument))
            .collect::<Result<Vec<_>, _>>()?;
        if name.starts_with(|letter: char| !letter.is_alphabetic()) {
            return operator(name, &arguments, &call.args);
        }
        overload(namespace.as_deref().unwrap_or(name), on, &arguments)
    }

    /// `cel.bind(x, …, …)`, and macros with two names.
    fn binding(&mut self, call: &CallExpr) -> Option<Inferred> {
        let target = call.target.as_deref()?;
        let ident = |expression: &IdedExpr| match &expression.expr {
            Expr::Ident(name) => Some(name.clone()),
            _ => None,
        };
        if call.func_name == "bind"
            && ident(target).as_deref() == Some("cel")
            && call.args.len() == 3
        {
            let name = ident(&call.args[0])?;
            return Some(self.infer(&call.args[1]).and_then(|kind| {
                self.within(&[(&name, kind)], |inner| inner.infer(&call.args[2]))
            }));
        }
        let known = [
            "all",
            "exists",
            "existsOne",
            "exists_one",
            "transformList",
            "transformMap",
            "transformMapEntry",
            "optMap",
            "optFlatMap",
            "sortBy",
        ];
        if !known.contains(&call.func_name.as_str()) || call.args.len() < 2 {
            return None;
        }
        let count = if call.args.len() == 2 { 1 } else { 2 };
        let names = call.args[..count]
            .iter()
            .map(ident)
            .collect::<Option<Vec<_>>>()?;
        let names: Vec<(&str, Type)> = names
            .iter()
            .map(|name| (name.as_str(), Type::Dyn))
            .collect();
        Some(self.infer(target).and_then(|_| {
            self.within(&names, |inner| {
                call.args[count..]
                    .iter()
                    .try_for_each(|part| inner.infer(part).map(drop))
            })?;
            let bool =
                ["all", "exists", "existsOne", "exists_one"].contains(&call.func_name.as_str());
            Ok(if bool { Type::Bool } else { Type::Dyn })
        }))
    }
}

fn joined(kinds: Vec<Type>) -> Type {
    kinds
        .into_iter()
        .reduce(|all, next| all.join(&next))
        .unwrap_or(Type::Dyn)
}

fn field(on: &Type, name: &str) -> Inferred {
    match on {
        Type::Object(fields) => fields.get(name).cloned().ok_or_else(|| {
            let near = nearest(name, fields.keys().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`"));
            format!("there is no field `{name}`{near}")
        }),
        Type::Map(_, value) => Ok((**value).clone()),
        Type::Dyn => Ok(Type::Dyn),
        Type::Optional(inner) => Ok(Type::Optional(Box::new(field(inner, name)?))),
        other => Err(format!("{other} has no field `{name}`")),
    }
}

#[allow(
    clippy::match_same_arms,
    reason = "a table, in the order of the operators"
)]
fn operator(name: &str, arguments: &[Type], written: &[IdedExpr]) -> Inferred {
    use Type::{
        Bool, Bytes, Double, Duration, Dyn, Int, List, Map, Optional, String, Timestamp, UInt,
    };
    let sign = name
        .trim_matches('_')
        .trim_start_matches('@')
        .replace('_', " ");
    let refused = || {
        let shown: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        Err(format!(
            "there is no `{}` of {}",
            sign.trim(),
            shown.join(" and ")
        ))
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
        ("_<_" | "_<=_" | "_>_" | "_>=_", [a, b]) => {
            let numbers = |kind: &Type| matches!(kind, Int | UInt | Double | Dyn);
            let ordered =
                |kind: &Type| matches!(kind, Bool | String | Bytes | Timestamp | Duration | Dyn);
            if numbers(a) && numbers(b) || ordered(a) && ordered(b) && a.fits(b) {
                Bool
            } else {
                return refused();
            }
        }
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [Dyn, _] | [_, Dyn]) => Dyn,
        ("_+_" | "_-_" | "_*_" | "_/_", [Double, Double]) => Double,
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [Int, Int]) => Int,
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [UInt, UInt]) => UInt,
        ("_+_", [String, String]) => String,
        ("_+_", [Bytes, Bytes]) => Bytes,
        ("_+_", [List(a), List(b)]) if a.fits(b) => List(Box::new(if **a == Dyn {
            (**b).clone()
        } else {
            (**a).clone()
        })),
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
            match field(on, &name)? {
                inner @ Optional(_) => inner,
                inner => Optional(Box::new(inner)),
            }
        }
        _ => return refused(),
    };
    Ok(result)
}

/// The overload that takes these; lists, maps and optionals go where `Dyn` stands.
fn overload(name: &str, on: Option<Type>, arguments: &[Type]) -> Inferred {
    let known: Vec<_> = ALL
        .iter()
        .filter(|function| function.name == name)
        .collect();
    if known.is_empty() {
        let near = nearest(name, ALL.iter().map(|function| function.name));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`"));
        return Err(format!("there is no function `{name}`{near}"));
    }
    let special = |kind: &Type| -> Option<Type> {
        match (name, kind) {
            (
                "size",
                Type::Int
                | Type::UInt
                | Type::Double
                | Type::Bool
                | Type::Timestamp
                | Type::Duration
                | Type::Object(_)
                | Type::Null,
            ) => None,
            (_, kind) => Some(kind.clone()),
        }
    };
    let takes =
        |wanted: &Type, given: &Type| special(given).is_some_and(|given| given.fits(wanted));
    let fitting = known.iter().find(|function| {
        let receiver = match (&function.on, &on) {
            (Some(wanted), Some(given)) => {
                takes(wanted, given) && (*wanted != Type::Dyn || !scalar(name, given))
            }
            (None, None) => true,
            _ => false,
        };
        let count = function.arguments.len() == arguments.len();
        receiver
            && count
            && function
                .arguments
                .iter()
                .zip(arguments)
                .all(|(wanted, given)| takes(wanted, given))
    });
    let Some(function) = fitting else {
        let shown: Vec<_> = on
            .iter()
            .chain(arguments)
            .map(ToString::to_string)
            .collect();
        return Err(format!(
            "there is no `{name}` of {}",
            if shown.is_empty() {
                "nothing".to_owned()
            } else {
                shown.join(" and ")
            }
        ));
    };
    Ok(match (name, on) {
        ("orValue" | "value", Some(Type::Optional(inner))) => *inner,
        ("or" | "distinct" | "reverse" | "sort" | "slice", Some(kind)) => kind,
        ("sum" | "min" | "max", Some(Type::List(item))) => *item,
        ("first" | "last", Some(Type::List(item))) => Type::Optional(item),
        ("split" | "findAll", Some(_)) => Type::List(Box::new(Type::String)),
        _ => function.result.clone(),
    })
}

/// Methods of lists and the like are none of scalars, though `Dyn` takes these as well.
fn scalar(name: &str, kind: &Type) -> bool {
    let scalar = matches!(
        kind,
        Type::Bool
            | Type::Int
            | Type::UInt
            | Type::Double
            | Type::String
            | Type::Null
            | Type::Object(_)
    );
    scalar && !(name == "size" && *kind == Type::String)
}
