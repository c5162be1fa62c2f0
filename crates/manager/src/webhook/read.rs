//! Reads a review, even if its type cannot read one of the objects.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    review::Question,
    text::{content, fields},
};
use crate::{
    cache::object::Object,
    parse::{self, Error},
};

/// A review as far as it can be read.
pub(super) struct Review<K> {
    pub(super) question: Question<K>,
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

/// Reads a review of objects of `K` into at most so many bytes.
///
/// # Errors
/// If it is not a valid review, or takes more memory.
pub(super) fn read<K: Object>(body: &[u8], most: usize) -> Result<Review<K>, Error> {
    // Read the review in one pass; read object by object only if that fails.
    let problem = match Question::read(body, most) {
        Ok(question) => {
            return Ok(Review {
                question,
                unreadable: None,
            });
        }
        Err(problem) if problem.is_too_large() => return Err(problem),
        Err(problem) => problem,
    };
    let Ok(raw) = Question::<&RawValue>::read(body, most) else {
        return Err(problem);
    };
    let object = parse::<K>(raw.object, most)?;
    let old_object = parse::<K>(raw.old_object, most)?;
    let unreadable = match (&object, &old_object) {
        (Err(problem), Err(_)) if is_untouched(&raw) => Some(Unreadable::Both(problem.clone())),
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

/// An object, or why it cannot be read.
fn parse<K: Object>(
    raw: Option<&RawValue>,
    most: usize,
) -> Result<Result<Option<K>, String>, Error> {
    let Some(raw) = raw.map(RawValue::get) else {
        return Ok(Ok(None));
    };
    match parse::from_str(raw, most) {
        Ok(object) => Ok(Ok(Some(object))),
        Err(error) if error.is_too_large() => Err(error),
        Err(error) => Ok(Err(error.explained(raw))),
    }
}

/// Whether an update leaves the unreadable content of an object as it is stored. Such an update is allowed: otherwise
/// the object could neither be labelled nor, because finalizers are metadata, deleted.
fn is_untouched(question: &Question<&RawValue>) -> bool {
    let (Some(new), Some(old)) = (question.object, question.old_object) else {
        return false;
    };
    question.operation == "UPDATE" && values(new.get()).eq(values(old.get()))
}

/// The names and values of the fields beside those that every object has.
fn values(object: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    let fields = content(fields(object)).into_iter();
    fields.map(|(name, field)| (name, field.value))
}
