//! Migration by Kubernetes itself: a `StorageVersionMigration`, on which kube-controller-manager works.

use std::time::Duration;

use kube::{
    Api, Client, ResourceExt as _,
    api::{ApiResource, DeleteParams, DynamicObject, PostParams},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::error::chain;

/// How often the state is read.
const PERIOD: Duration = Duration::from_secs(2);

/// How long nothing may work on a migration, as where the controller is switched off.
const UNATTENDED: Duration = Duration::from_secs(60);

/// How a delegated migration ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All objects have been rewritten.
    Succeeded,
    /// It failed, or cannot be delegated.
    Failed(String),
}

/// A migration of one kind to one state of its CRD.
pub(super) struct Delegate {
    api: Api<DynamicObject>,
    object: DynamicObject,
    name: String,
    annotation: String,
}

impl Delegate {
    /// A migration of the objects of `kind` to this generation of its CRD. `id` is that of the operator, which owns
    /// every migration with the name of the CRD and the id.
    pub(super) fn new(client: Client, kind: &ApiResource, generation: i64, id: &str) -> Self {
        let resource = ApiResource {
            group: "storagemigration.k8s.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "storagemigration.k8s.io/v1".to_owned(),
            kind: "StorageVersionMigration".to_owned(),
            plural: "storageversionmigrations".to_owned(),
        };
        let name = format!("{}.{}-{id}", kind.plural, kind.group);
        let annotation = format!("{id}/generation");
        let mut object = DynamicObject::new(&name, &resource);
        object
            .annotations_mut()
            .insert(annotation.clone(), generation.to_string());
        object.data = json!({"spec": {"resource": {"group": kind.group, "resource": kind.plural}}});
        Self {
            api: Api::all_with(client, &resource),
            object,
            name,
            annotation,
        }
    }

    /// Creates the migration, or finds that of an earlier process; waits for its end, and deletes it.
    ///
    /// Where a request fails that may succeed later, such as one whose answer is lost, it begins again for a while: the
    /// migration may exist, and no one else would delete it.
    pub(super) async fn run(&self) -> Outcome {
        let began = Instant::now();
        loop {
            let error = match self.outcome().await {
                Ok(outcome) => return outcome,
                Err(error) => error,
            };
            if is_final(&error) {
                return Outcome::Failed(chain(&error));
            }
            if began.elapsed() >= UNATTENDED {
                // It failed before, so this may fail, too.
                let _ = self.delete().await;
                return Outcome::Failed(chain(&error));
            }
            sleep(PERIOD).await;
        }
    }

    async fn outcome(&self) -> kube::Result<Outcome> {
        let mut idle = Instant::now();
        loop {
            let ended = match self.api.get_opt(&self.name).await? {
                Some(found) if self.is_current(&found) => match state(&found) {
                    State::New => unattended(idle, "nothing works on it"),
                    State::Running => {
                        idle = Instant::now();
                        None
                    }
                    State::Succeeded => Some(Outcome::Succeeded),
                    State::Failed(message) => Some(Outcome::Failed(message)),
                },
                Some(outdated) => {
                    if outdated.metadata.deletion_timestamp.is_none() {
                        self.delete().await?;
                    }
                    // A finalizer may keep it.
                    unattended(idle, "an earlier one is not gone")
                }
                None => {
                    self.create().await?;
                    idle = Instant::now();
                    None
                }
            };
            if let Some(ended) = ended {
                self.delete().await?;
                return Ok(ended);
            }
            sleep(PERIOD).await;
        }
    }

    /// Whether a migration is for the same state of the CRD. The result of an older one does not count for this one.
    fn is_current(&self, found: &DynamicObject) -> bool {
        let generation =
            |object: &DynamicObject| object.annotations().get(&self.annotation).cloned();
        generation(found) == generation(&self.object)
    }

    async fn create(&self) -> kube::Result<()> {
        let params = PostParams::default();
        match self.api.create(&params, &self.object).await {
            Ok(_) => tracing::info!(name = self.name, "created a StorageVersionMigration"),
            Err(kube::Error::Api(error)) if error.code == 409 => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn delete(&self) -> kube::Result<()> {
        match self.api.delete(&self.name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(error)) if error.code == 404 => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether a request would fail again: the API server has no such kind, or the operator has no permission.
fn is_final(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    (400..500).contains(&status.code) && ![409, 429].contains(&status.code)
}

/// The end of a migration on which nothing has worked since `idle`; `None` if that is not long ago.
fn unattended(idle: Instant, why: &str) -> Option<Outcome> {
    (idle.elapsed() >= UNATTENDED).then(|| Outcome::Failed(why.to_owned()))
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Nothing has worked on it yet.
    New,
    Running,
    Succeeded,
    Failed(String),
}

/// The state that the conditions show. A migration that has succeeded is still `Running` until kube-controller-manager
/// has changed the status of the CRD, too.
fn state(object: &DynamicObject) -> State {
    let conditions = object.data["status"]["conditions"].as_array();
    let find = |kind: &str| {
        let mut all = conditions.into_iter().flatten();
        all.find(|it| it["type"] == kind && it["status"] == "True")
    };
    let message = |it: &Value| it["message"].as_str().unwrap_or_default().to_owned();
    match (find("Failed"), find("Running"), find("Succeeded")) {
        (Some(failed), ..) => State::Failed(message(failed)),
        (_, Some(_), _) => State::Running,
        (.., Some(_)) => State::Succeeded,
        _ => State::New,
    }
}
