//! Types, and null.

use super::pair::{Kind, Pair, kind as of};
use super::rule::Break;

/// Values of another type.
pub fn kind(pair: &Pair, found: &mut Vec<Break>) {
    let (old, new) = (of(pair.old), of(pair.new.schema));
    if old == new {
        return;
    }
    let wider = matches!(
        (old, new),
        (_, Kind::Any)
            | (Kind::Integer, Kind::Number)
            | (Kind::Integer | Kind::String, Kind::IntOrString)
    );
    let (old, new) = (old.name(), new.name());
    let text = format!("the type changed from {old} to {new}");
    let help = if wider {
        "old values stay valid, but clients may read values of a type that they do not know: keep the type, or change it in a new version"
    } else {
        "keep the type, or change it in a new version with conversion, under another name to keep both"
    };
    found.push(Break::new(pair.path(), text, help).tolerated_if(wider));
}

/// Values that cannot be null any more.
pub fn null(pair: &Pair, found: &mut Vec<Break>) {
    let (old, new) = pair.both("nullable");
    if *old == true && *new != true && pair.is_same_kind() {
        let text = "the value could be null, and now cannot";
        let help = "keep the `Option`, or forbid null in a new version";
        // A null is replaced by the default, if there is one.
        let default = !pair.new.get("default").is_null();
        found.push(Break::new(pair.path(), text, help).tolerated_if(default));
    }
}
