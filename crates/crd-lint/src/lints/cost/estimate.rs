//! Estimates the cost of an expression in the API server's unit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr};
use serde_json::{Value, json};

use apiserver_rules::expressions::unquoted;

/// The largest request, in bytes.
const REQUEST: u64 = 3 * 1024 * 1024;

/// The smallest sizes of values, by their schemas, of which each is looked at once.
#[derive(Default)]
pub struct Sizes<'a> {
    smallest: RefCell<BTreeMap<*const Value, u64>>,
    schemas: PhantomData<&'a Value>,
}

impl<'a> Sizes<'a> {
    /// The maximum cost of running a rule of a schema once.
    pub fn once(&self, schema: &'a Value, rule: &IdedExpr) -> u64 {
        let names = ["self", "oldSelf"].map(|name| (name.to_owned(), schema));
        self.cost(rule, &mut names.into())
    }

    /// The number of values of a schema that fit into a request.
    pub fn most(&self, schema: &'a Value) -> u64 {
        REQUEST / (self.smallest(schema) + 1)
    }

    /// The minimum size of a value in a request, in bytes.
    fn smallest(&self, schema: &'a Value) -> u64 {
        if let Some(known) = self.smallest.borrow().get(&std::ptr::from_ref(schema)) {
            return *known;
        }
        let fields = schema["properties"].as_object();
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str);
        let smallest = match schema["type"].as_str() {
            Some("object") => {
                let field = |name: &str| {
                    let field = fields?
                        .get(name)
                        .filter(|field| field["default"].is_null())?;
                    Some(name.len() as u64 + self.smallest(field) + 4)
                };
                2 + required.filter_map(field).sum::<u64>()
            }
            Some("string" | "array") => 2,
            Some("boolean") => 4,
            _ => 1,
        };
        let mut known = self.smallest.borrow_mut();
        known.insert(std::ptr::from_ref(schema), smallest);
        smallest
    }

    /// The maximum number of items in a list or map, or of characters in a string.
    fn size(&self, schema: &'a Value) -> u64 {
        let bound = |key: &str| schema[key].as_u64();
        match schema["type"].as_str() {
            Some("array") => {
                bound("maxItems").unwrap_or_else(|| REQUEST / (self.smallest(&schema["items"]) + 1))
            }
            Some("object") if schema["additionalProperties"].is_object() => bound("maxProperties")
                .unwrap_or_else(|| REQUEST / (self.smallest(&schema["additionalProperties"]) + 6)),
            Some("string") => match bound("maxLength") {
                Some(characters) => characters.saturating_mul(4),
                None if schema["enum"].is_array() => 64,
                None if !schema["format"].is_null() => 64,
                None => REQUEST,
            },
            _ if schema["x-kubernetes-int-or-string"] == json!(true) => REQUEST,
            _ => 1,
        }
    }
}

type Scope<'a> = Vec<(String, &'a Value)>;

/// The schema of the value that an expression selects, if it is a value of the object.
fn schema<'a>(expression: &IdedExpr, scope: &Scope<'a>) -> &'a Value {
    match &expression.expr {
        Expr::Ident(name) => scope
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map_or(&Value::Null, |(_, schema)| schema),
        Expr::Select(select) => {
            let on = schema(&select.operand, scope);
            on["properties"]
                .get(unquoted(&select.field))
                .unwrap_or(&on["additionalProperties"])
        }
        Expr::Call(call) if call.func_name == "_[_]" => {
            let on = call
                .args
                .first()
                .map_or(&Value::Null, |on| schema(on, scope));
            if on["items"].is_object() {
                &on["items"]
            } else {
                &on["additionalProperties"]
            }
        }
        _ => &Value::Null,
    }
}

impl<'a> Sizes<'a> {
    fn cost(&self, expression: &IdedExpr, scope: &mut Scope<'a>) -> u64 {
        match &expression.expr {
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => 0,
            Expr::Ident(_) => 1,
            Expr::Select(select) => 1 + self.cost(&select.operand, scope),
            Expr::List(list) => 10 + self.sum(&list.elements, scope),
            Expr::Map(map) => {
                let entry = |entry: &EntryExpr, scope: &mut Scope<'a>| match entry {
                    EntryExpr::MapEntry(entry) => {
                        self.cost(&entry.key, scope) + self.cost(&entry.value, scope)
                    }
                    EntryExpr::StructField(_) => 0,
                };
                let entries = map.entries.iter();
                30 + entries.map(|each| entry(&each.expr, scope)).sum::<u64>()
            }
            Expr::Call(call) => self.of_call(call, scope),
            Expr::Comprehension(macros) => self.of_macro(macros, scope),
        }
    }

    fn sum<'e>(&self, parts: impl IntoIterator<Item = &'e IdedExpr>, scope: &mut Scope<'a>) -> u64 {
        let costs = parts.into_iter().map(|part| self.cost(part, scope));
        costs.fold(0, u64::saturating_add)
    }

    /// A call costs as much as its arguments, and more if it traverses strings or lists.
    fn of_call(&self, call: &CallExpr, scope: &mut Scope<'a>) -> u64 {
        const COMPARISONS: [&str; 6] = ["_==_", "_!=_", "_<_", "_>_", "_<=_", "_>=_"];
        const SEARCHES: [&str; 2] = ["contains", "matches"];
        const OTHERS: [&str; 6] = ["startsWith", "endsWith", "@in", "find", "replace", "split"];
        let parts = call.target.as_deref().into_iter().chain(&call.args);
        let inner = self.sum(parts.clone(), scope);
        let sizes = parts.map(|part| match &part.expr {
            Expr::Literal(_) => 10,
            _ => self.size(schema(part, scope)),
        });
        let length = match call.func_name.as_str() {
            // Comparing costs as much as the smaller side.
            name if COMPARISONS.contains(&name) => sizes.min(),
            name if SEARCHES.contains(&name) => {
                sizes.reduce(|a, b| a.saturating_mul(b.div_ceil(4)))
            }
            name if OTHERS.contains(&name) => sizes.max(),
            _ => return inner.saturating_add(1),
        };
        let extra = length.unwrap_or(1).div_ceil(10);
        inner.saturating_add(1).saturating_add(extra)
    }

    /// A macro costs as much as its range, plus its step for each item.
    fn of_macro(&self, macros: &ComprehensionExpr, scope: &mut Scope<'a>) -> u64 {
        let range = schema(&macros.iter_range, scope);
        let times = if range.is_null() {
            10
        } else {
            self.size(range)
        };
        let item = if range["items"].is_object() {
            &range["items"]
        } else {
            &Value::Null
        };
        let outer = scope.len();
        let start = self.cost(&macros.iter_range, scope);
        scope.push((macros.iter_var.clone(), item));
        let step = self
            .cost(&macros.loop_cond, scope)
            .saturating_add(self.cost(&macros.loop_step, scope));
        scope.truncate(outer);
        start.saturating_add(times.saturating_mul(step))
    }
}
