//! What the user of a history does: the steps of the scenario, and the end of its objects.

use std::panic::{self, AssertUnwindSafe};

use super::{network::Network, trace::Happened, who::Who};
use crate::{FakeApi, server::Path};

impl Network {
    /// Whether the user can take this step, from 1, now.
    pub(super) fn is_next(&self, step: usize) -> bool {
        let state = self.lock();
        state.steps + 1 == step && !state.deleted && state.recreated.is_empty()
    }

    /// Takes the next step of the user, and says so.
    pub(super) fn step(&self) {
        let next = self.lock().steps;
        let Some((what, step)) = self.scenario.steps.get(next) else {
            return;
        };
        {
            let mut state = self.lock();
            state.steps += 1;
            self.record(&mut state, Happened::User(what.clone()));
        }
        let before = self.api.change_quietly(|objects| objects.urls());
        self.take(next + 1, step.as_ref());
        self.stored_by(Who::User);
        let mut created = self.api.change_quietly(|objects| objects.urls());
        created.retain(|url| !before.contains(url));
        self.lock().created_in_steps.extend(created);
    }

    /// Takes a step, the one with this number from 1. If it panics before its turn, it needs what is not there yet, and the operator has no
    /// part in that. In its turn, a panic is the author's to see.
    fn take(&self, number: usize, step: &(dyn Fn(&FakeApi) + Send + Sync)) {
        let version = || self.api.change_quietly(|objects| objects.version());
        let before = version();
        if self.plan.has_other_actions() {
            let taken = panic::catch_unwind(AssertUnwindSafe(|| step(&self.api)));
            if taken.is_err() {
                self.lock().misplaced_steps.push(number);
            }
        } else {
            step(&self.api);
        }
        if version() == before {
            self.lock().idle_steps.push(number);
        }
    }

    /// Deletes what the user has created in steps, once the other objects are gone: they may need it to the end. Returns whether there
    /// was anything.
    pub(super) fn delete_created(&self) -> bool {
        let created = std::mem::take(&mut self.lock().created_in_steps);
        let found = created.iter().filter_map(|url| Path::parse(url));
        let found: Vec<_> = found
            .filter(|path| {
                self.api
                    .change_quietly(|objects| objects.get(path).is_some())
            })
            .collect();
        for path in &found {
            self.tell(Happened::User(format!("deletes {path}")));
            self.api.remove(path);
            self.stored_by(Who::User);
        }
        !found.is_empty()
    }

    /// Deletes the objects of the scenario, as the user does.
    pub(super) fn delete(&self) {
        {
            let mut state = self.lock();
            state.deleted = true;
            state.recreated.clear();
        }
        for path in self.scenario.objects.iter().map(|(path, _)| path) {
            self.tell(Happened::User(format!("deletes {path}")));
            self.api.remove(path);
            self.stored_by(Who::User);
        }
    }

    /// Deletes the objects of the scenario, and creates them again once all are gone.
    pub(super) fn recreate(&self) {
        if self.lock().deleted {
            return;
        }
        for (path, _) in &self.scenario.objects {
            let found = self.api.change_quietly(|objects| {
                let object = objects.get(path)?.clone();
                object["metadata"]["deletionTimestamp"]
                    .is_null()
                    .then_some(object)
            });
            let Some(mut object) = found else { continue };
            self.tell(Happened::User(format!("deletes {path}")));
            if let Some(object) = object.as_object_mut() {
                object.remove("status");
            }
            if let Some(meta) = object["metadata"].as_object_mut() {
                let written = ["name", "namespace", "labels", "annotations"];
                meta.retain(|field, _| written.contains(&field.as_str()));
            }
            self.lock().recreated.push((path.clone(), object));
            self.api.remove(path);
            self.stored_by(Who::User);
        }
    }
}
