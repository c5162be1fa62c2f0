//! What the requests of the operator are called in stories.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use hyper::Method;
use serde_json::Value;

use super::{
    replica::Replica,
    trace::{Happened, Write},
    who::{Who, controller},
};
use crate::server::{Call, Path};

impl Replica {
    /// A write, before it arrives.
    pub(super) fn write_of(&self, number: usize, call: &Call) -> Write {
        let mut hasher = DefaultHasher::new();
        call.body.to_string().hash(&mut hasher);
        Write {
            kind: call.path.resource(),
            sent: hasher.finish(),
            ..Write::new(number, self.who(controller(call)), self.action(call))
        }
    }

    /// Records a write.
    pub(super) fn tell_write(&self, write: Write) {
        let who = write.who.clone();
        {
            let mut state = self.network.lock();
            state.changes += usize::from(write.changed);
            self.network.record(&mut state, Happened::Wrote(write));
        }
        self.network.stored_by(who);
    }

    /// The object at a path, as it is stored.
    pub(super) fn stored(&self, path: &Path) -> Option<Value> {
        self.network.api.change_quietly(|objects| {
            let stored_at = objects.stored_path(&path.object());
            objects.get(&stored_at).cloned()
        })
    }

    /// Who it is in stories: perhaps with one of several controllers.
    pub(super) fn who(&self, controller: Option<&str>) -> Who {
        let several = self.network.lock().controllers > 1;
        match self.network.operator(self.number) {
            Who::Operator { replica, .. } => Who::Operator {
                replica,
                controller: controller.filter(|_| several).map(str::to_owned),
            },
            who => who,
        }
    }

    /// What it is called in stories.
    pub(super) fn name(&self) -> String {
        self.who(None).to_string()
    }

    /// What a request does, in words.
    pub(super) fn request(&self, call: &Call) -> String {
        let path = &call.path;
        match call.method {
            Method::GET if call.watches() => format!("watches {}", path.resource()),
            Method::GET if path.name.is_empty() => format!("lists {}", path.resource()),
            Method::GET => format!("reads {path}"),
            _ => self.action(call),
        }
    }

    /// What a write does, in words.
    pub(super) fn action(&self, call: &Call) -> String {
        let object = call.path.object();
        let exists = self
            .network
            .0
            .api
            .change_quietly(|objects| objects.get(&object).is_some());
        let verb = match (&call.method, call.path.subresource.as_str()) {
            (&Method::DELETE, _) => "deletes",
            (_, "status") => "writes the status of",
            (_, other) if !other.is_empty() => return format!("writes {}", call.path),
            (&Method::POST, _) => "creates",
            _ if !exists => "creates",
            _ => "changes",
        };
        let mut object = object.to_string();
        let meta = &call.body["metadata"];
        let given = meta["name"].as_str().or(meta["generateName"].as_str());
        if let Some(given) = given.filter(|_| call.path.name.is_empty()) {
            object = format!("{}/{given}", object.trim_end_matches('/'));
        }
        format!("{verb} {object}")
    }
}
