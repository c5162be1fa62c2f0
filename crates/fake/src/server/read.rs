//! Gets, lists and watches.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Value, json};

use super::{
    Call,
    answer::{Answer, ErrorResponse},
    kinds::Kind,
    path::Path,
    select::Selection,
    store::{Change, Objects},
};

impl Objects {
    /// Answers a list, in pages if the request sets a limit.
    pub(super) fn list(&mut self, call: &Call, kind: &Kind) -> Answer {
        let selection = Selection::parse(&call.query, &call.path)?;
        let of = |name: &str| call.query.get(name).map_or("", String::as_str);
        if of("resourceVersionMatch") == "Exact"
            && of("resourceVersion") != self.version.to_string()
        {
            return Err(ErrorResponse::beyond(
                &call.path,
                "list what was at an earlier time",
            ));
        }
        let mut items = match of("continue") {
            "" => self.selected(call, &selection),
            token => {
                let page = self.pages.get(token).cloned();
                page.ok_or_else(|| {
                    ErrorResponse::bad_request(&call.path, "continue key is not valid")
                })?
            }
        };
        let mut meta = json!({"resourceVersion": self.seen_by(call).to_string()});
        let limit = of("limit").parse().unwrap_or_default();
        if limit > 0 && items.len() > limit {
            let rest = items.split_off(limit);
            let token = format!("page-{}", self.pages.len());
            meta["remainingItemCount"] = json!(rest.len());
            meta["continue"] = json!(token);
            self.pages.insert(token, rest);
        }
        let first = items.first().and_then(|item| item["kind"].as_str());
        let name = match kind.name.as_str() {
            "" => first.unwrap_or_default(),
            name => name,
        };
        let name = format!("{name}List");
        if kind.built_in {
            // The list has these fields itself, so its items omit them.
            for item in items.iter_mut().filter_map(Value::as_object_mut) {
                item.retain(|field, _| field != "apiVersion" && field != "kind");
            }
        }
        let list = json!({
            "apiVersion": call.path.api_version(), "kind": name,
            "metadata": meta, "items": items,
        });
        Ok((StatusCode::OK, call.shown(list)))
    }

    /// The objects of a collection that a request selects.
    pub(super) fn selected(&self, call: &Call, selection: &Selection) -> Vec<Value> {
        let here = self.at(self.seen_by(call), |path| call.path.holds(path));
        let fit = here.into_values().filter(|object| selection.fits(object));
        fit.collect()
    }

    /// Starts a watch: its first events, and the version that it continues from.
    pub fn watch(&self, call: &Call) -> Result<(Vec<Value>, Watch), ErrorResponse> {
        self.known(call)?;
        let stored_at = self.converted_path(&call.path);
        if stored_at.is_none() {
            self.only_version(&call.path)?;
        }
        let shown_at = call.path.clone();
        let mut call = call.clone();
        call.path = stored_at.unwrap_or(call.path);
        if !call.path.name.is_empty() {
            return Err(ErrorResponse::beyond(
                &call.path,
                "watch by the path of one object",
            ));
        }
        let selection = Selection::parse(&call.query, &call.path)?;
        let (lists, seen) = (lists(&call)?, self.seen_by(&call));
        let from = call.query.get("resourceVersion").cloned();
        let from = from.unwrap_or_default();
        let (first, after) = match (lists, from.as_str()) {
            (Some(true), _) | (None, "" | "0") => (self.selected(&call, &selection), seen),
            (Some(false), "" | "0") => (Vec::new(), self.version),
            (_, from) => {
                let from = from.parse().map_err(|_| {
                    ErrorResponse::bad_request(
                        &call.path,
                        format!("invalid resource version: {from}"),
                    )
                })?;
                (Vec::new(), from)
            }
        };
        let watch = Watch {
            call,
            shown_at,
            selection,
            after,
        };
        let first = first.into_iter();
        let first = first.map(|object| self.event(&watch, "ADDED", object));
        let mut first: Vec<_> = first.collect();
        if lists == Some(true)
            && let Some(mut bookmark) = watch.bookmark()
        {
            let annotations = &mut bookmark["object"]["metadata"]["annotations"];
            *annotations = json!({"k8s.io/initial-events-end": "true"});
            first.push(bookmark);
        }
        Ok((first, watch))
    }

    /// The events of a watch since the last call.
    pub fn news(&self, watch: &mut Watch) -> Vec<Value> {
        self.news_until(watch, self.version)
    }

    /// The events of a watch since the last call, up to a version.
    pub fn news_until(&self, watch: &mut Watch, version: u64) -> Vec<Value> {
        let index = |version| self.changes.partition_point(|it| it.version <= version);
        let (from, to) = (index(watch.after), index(version));
        let new = self.changes.get(from..to).unwrap_or_default().iter();
        let here = new.filter(|change| watch.call.path.holds(&change.path));
        let news = here.filter_map(|change| {
            let (kind, object) = watch.event(change)?;
            Some(self.event(watch, kind, object))
        });
        let news = news.collect();
        watch.after = watch.after.max(version);
        news
    }

    /// An event in the version of the watch. An object that cannot be converted is an error to its client.
    fn event(&self, watch: &Watch, kind: &str, object: Value) -> Value {
        let is_stored_so = watch.shown_at.root == watch.call.path.root;
        let shown = if is_stored_so {
            Ok(object)
        } else {
            self.shown_at(&object, &watch.shown_at)
        };
        match shown {
            Ok(object) => json!({"type": kind, "object": watch.call.shown(object)}),
            Err(error) => json!({"type": "ERROR", "object": error.body().1}),
        }
    }
}

/// Whether a watch is to begin with a list of all objects, if it says so.
///
/// Source: `k8s.io/apimachinery/pkg/apis/internalversion/validation`.
fn lists(call: &Call) -> Result<Option<bool>, ErrorResponse> {
    let of = |name: &str| call.query.get(name).map_or("", String::as_str);
    let invalid = |why: &str| {
        Err(ErrorResponse::invalid_options(
            &call.path,
            "ListOptions",
            why,
        ))
    };
    match (of("sendInitialEvents"), of("resourceVersionMatch")) {
        ("", "") => Ok(None),
        ("", _) => invalid(
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (send, "NotOlderThan") => Ok(Some(send == "true")),
        _ => invalid(
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
    }
}

/// A watch under way.
#[derive(Debug)]
pub struct Watch {
    /// With the path under which its objects are stored.
    call: Call,
    /// The path that was asked for, which may have another version.
    shown_at: Path,
    selection: Selection,
    after: u64,
}

impl Watch {
    /// The collection that is watched.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.call.path
    }

    /// How long it runs, as asked for.
    #[must_use]
    pub fn limit(&self) -> Duration {
        let asked = self.call.query.get("timeoutSeconds");
        let seconds = asked.and_then(|seconds| seconds.parse().ok());
        Duration::from_secs(seconds.filter(|seconds| *seconds > 0).unwrap_or(1800))
    }

    /// A bookmark with the current version, if the watch has asked for bookmarks.
    #[must_use]
    pub fn bookmark(&self) -> Option<Value> {
        let wanted = self.call.query.get("allowWatchBookmarks");
        wanted.filter(|wanted| *wanted == "true")?;
        let meta = json!({"resourceVersion": self.after.to_string(), "creationTimestamp": null});
        let object =
            json!({"apiVersion": self.shown_at.api_version(), "kind": "", "metadata": meta});
        Some(json!({"type": "BOOKMARK", "object": object}))
    }

    /// The type and the object of the event of a change, for a client that sees only selected objects.
    fn event(&self, change: &Change) -> Option<(&'static str, Value)> {
        let before = change
            .old
            .as_ref()
            .is_some_and(|old| self.selection.fits(old));
        let after = !change.gone && self.selection.fits(&change.new);
        let kind = match (before, after) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return None,
        };
        let mut object = change.new.clone();
        if !after && let Some(old) = &change.old {
            // An object that is no longer selected is sent in its last selected state.
            object = old.clone();
            object["metadata"]["resourceVersion"] = change.version.to_string().into();
        }
        Some((kind, object))
    }
}
