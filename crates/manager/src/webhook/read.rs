//! Reads a review, even if its type cannot read one of the objects.

use std::borrow::Cow;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{
    charged,
    review::Question,
    text::{content, fields},
};
use crate::{cache::object::Object, json_path::explain, servers::budget::Budget};

/// A review as far as it can be read.
pub(super) struct Review<K, O> {
    pub(super) question: Question<K, O>,
    pub(super) unreadable: Option<Unreadable>,
}

/// Which object of a review cannot be read, and why. The question lacks that object.
pub(super) enum Unreadable {
    /// The new object.
    New(String),
    /// The stored object, which is being repaired or deleted.
    Old(String),
    /// Both objects, and they differ only in metadata.
    Both(String),
}

/// Reads a review of objects of `K`, the stored one as an `O`, within a budget.
///
/// # Errors
/// If it is not a valid review, or the budget is exceeded.
pub(super) fn read<K: Object, O: DeserializeOwned>(
    body: &[u8],
    budget: &Budget,
) -> Result<Review<K, O>, String> {
    // Read the review in one pass; read object by object only if that fails.
    let problem = match Question::read(body, budget) {
        Ok(question) => {
            return Ok(Review {
                question,
                unreadable: None,
            });
        }
        Err(problem) if budget.exceeded() => return Err(problem),
        Err(problem) => problem,
    };
    // What was read of it until then is gone.
    budget.back_to(0);
    let raw = Question::<&RawValue>::read(body, budget).map_err(|_| problem)?;
    let object = raw.object.map(|raw| parse::<K>(raw, budget)).transpose();
    let old_object = raw
        .old_object
        .map(|raw| parse::<O>(raw, budget))
        .transpose();
    let unreadable = match (&object, &old_object) {
        (Err(problem), _) | (_, Err(problem)) if budget.exceeded() => return Err(problem.clone()),
        (Err(problem), _) if is_untouched::<K>(&raw, budget) => {
            Some(Unreadable::Both(problem.clone()))
        }
        (Err(problem), _) => Some(Unreadable::New(problem.clone())),
        (Ok(_), Err(problem)) => Some(Unreadable::Old(problem.clone())),
        (Ok(_), Ok(_)) => None,
    };
    let (object, old_object) = (object.ok().flatten(), old_object.ok().flatten());
    Ok(Review {
        question: raw.about(object, old_object),
        unreadable,
    })
}

fn parse<'a, T: Deserialize<'a>>(raw: &'a RawValue, budget: &Budget) -> Result<T, String> {
    charged::from_str(raw.get(), budget).map_err(|error| explain(raw.get(), &error))
}

/// Whether an update leaves the unreadable content of an object as it is stored. Such an update is allowed: otherwise
/// the object could neither be labelled nor, because finalizers are metadata, deleted.
fn is_untouched<K: Object>(question: &Question<&RawValue>, budget: &Budget) -> bool {
    let (Some(new), Some(old)) = (question.object, question.old_object) else {
        return false;
    };
    question.operation == "UPDATE"
        && parse::<K>(old, budget).is_err()
        && values(new.get(), budget).eq(values(old.get(), budget))
}

/// The names and values of the fields beside those that every object has.
fn values<'a>(
    object: &'a str,
    budget: &Budget,
) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> + use<'a> {
    let fields = content(fields(object, budget)).into_iter();
    fields.map(|(name, field)| (name, field.value))
}
