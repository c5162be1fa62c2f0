//! The compiled rules of a schema.

use std::collections::BTreeMap;

use cel::IdedExpr;
use serde_json::Value;

use super::field_path::below;
use super::infer::Checker;
use super::parse::parse;
use super::types::Type;
use crate::path::FieldPath;
use crate::schema::is_embedded;

/// The rules of a schema and of the schemas in it, without the parts that have none.
#[derive(Debug)]
pub struct Rules {
    pub(super) own: Vec<Rule>,
    pub(super) is_resource: bool,
    pub(super) items: Option<Box<Rules>>,
    pub(super) values: Option<Box<Rules>>,
    pub(super) fields: BTreeMap<String, Rules>,
    pub(super) all_of: Vec<Rules>,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// The expression.
    pub text: String,
    /// The message, if it has one.
    pub message: Option<String>,
    /// The expression for the message, if it has one.
    pub message_expression: Option<String>,
    /// `FieldValueInvalid` or another reason, if it has one.
    pub reason: Option<String>,
    pub(super) optional: bool,
    /// Relative to the value that the rule is about.
    pub(super) path: FieldPath,
    /// The expression, or why it cannot be compiled.
    pub(super) condition: Result<Compiled, String>,
    pub(super) text_of_message: Option<IdedExpr>,
}

/// An expression.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) expression: IdedExpr,
    pub(super) uses_old: bool,
}

impl Rules {
    /// Compiles the rules of a schema; `None` if it has none. `is_resource`: whether it describes a whole object.
    #[must_use]
    pub fn of(schema: &Value, is_resource: bool) -> Option<Self> {
        Self::on(schema, schema, is_resource)
    }

    /// Compiles the rules in `from`, which is `schema` or a part of its `allOf`.
    fn on(from: &Value, schema: &Value, is_resource: bool) -> Option<Self> {
        let part = |key: &str| {
            let (from, schema) = (from.get(key)?, schema.get(key)?);
            Self::on(from, schema, is_embedded(schema)).map(Box::new)
        };
        let fields = from["properties"].as_object().into_iter().flatten();
        let fields = fields.filter_map(|(name, from)| {
            let schema = schema["properties"].get(name)?;
            Some((name.clone(), Self::on(from, schema, is_embedded(schema))?))
        });
        let all_of = from["allOf"].as_array().into_iter().flatten();
        let rules = Self {
            own: own(from, schema, is_resource),
            is_resource,
            items: part("items"),
            values: part("additionalProperties"),
            fields: fields.collect(),
            all_of: all_of
                .filter_map(|from| Self::on(from, schema, is_resource))
                .collect(),
        };
        let below = rules.items.is_some() || rules.values.is_some() || !rules.fields.is_empty();
        let any = below || !rules.own.is_empty() || !rules.all_of.is_empty();
        any.then_some(rules)
    }
}

fn own(from: &Value, schema: &Value, is_resource: bool) -> Vec<Rule> {
    let rules = from["x-kubernetes-validations"].as_array();
    let Some(rules) = rules.filter(|rules| !rules.is_empty()) else {
        return Vec::new();
    };
    let kind = Type::of(schema, is_resource);
    let blank = |rule: &&Value| {
        let text = rule["rule"].as_str().unwrap_or_default();
        text.trim().is_empty()
    };
    let rules = rules.iter().filter(|rule| !blank(rule));
    rules
        .map(|rule| compiled(rule, schema, kind.as_ref()))
        .collect()
}

fn compiled(rule: &Value, schema: &Value, kind: Option<&Type>) -> Rule {
    let text = |key: &str| {
        let text = rule[key].as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let optional = rule["optionalOldSelf"] == true;
    let compile = |text: &str, wanted: &Type| {
        let kind = kind.ok_or("a value without a schema has no `self`")?;
        let expression = parse(text)?;
        let mut checker = Checker::new(kind, optional);
        let found = checker.infer(&expression).map_err(|error| error.message)?;
        if found != *wanted && found != Type::Dyn {
            return Err(format!("must evaluate to {wanted}, not {found}"));
        }
        Ok(Compiled {
            expression,
            uses_old: checker.uses_old(),
        })
    };
    let message_expression = text("messageExpression");
    let made = message_expression.as_deref();
    let made = made.and_then(|text| compile(text, &Type::String).ok());
    let condition = text("rule").unwrap_or_default();
    let path = text("fieldPath").and_then(|path| below(schema, &path));
    Rule {
        condition: compile(&condition, &Type::Bool),
        text: condition,
        message: text("message"),
        message_expression,
        reason: text("reason"),
        optional,
        path: path.unwrap_or_default(),
        text_of_message: made.map(|made| made.expression),
    }
}
