//! The operator with webhooks, and its kind in three versions. It is this test binary, called with `webhooks` and
//! flags.

use std::time::Duration;

use clap::Parser;
use kube::CustomResourceExt as _;
use manager::{
    Manager, Options,
    webhook::{
        AdmissionRequest, Allowed, Defaulter, FieldError, FieldErrors, Rejection, Request,
        Validator, Warnings,
    },
};
use serde_json::{Value, json};

/// The id of the operator; its first part is the prefix of all names.
pub const ID: &str = "guests.example.com";

macro_rules! version {
    ($version:ident, $text:literal, {$($field:ident: $type:ty),*}) => {
        pub mod $version {
            use kube::CustomResource;
            use schemars::JsonSchema;
            use serde::{Deserialize, Serialize};

            use super::super::rooms::Room;

            #[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
            #[kube(group = "hotel.example.com", version = $text, kind = "Guest", namespaced)]
            #[serde(rename_all = "camelCase", default)]
            pub struct GuestSpec {
                $(pub $field: $type,)*
                #[serde(skip_serializing_if = "Vec::is_empty")]
                pub rooms: Vec<Room>,
            }
        }
    };
}

version!(v1, "v1", { name: String });
version!(v2, "v2", { first: String, last: String, nights: Option<i32> });
version!(v3, "v3", { names: Vec<String>, nights: Option<i32> });

/// How many bytes the defaulter writes into a guest named `huge`.
pub const HUGE: usize = 1_000_000;

/// The annotation for a value that the oldest version has no field for.
const NIGHTS: &str = "hotel.example.com/nights";

impl From<v1::Guest> for v2::Guest {
    fn from(guest: v1::Guest) -> Self {
        let mut metadata = guest.metadata;
        let nights = metadata
            .annotations
            .as_mut()
            .and_then(|all| all.remove(NIGHTS));
        let (first, last) = guest
            .spec
            .name
            .split_once(' ')
            .unwrap_or((&guest.spec.name, ""));
        let spec = v2::GuestSpec {
            first: first.to_owned(),
            last: last.to_owned(),
            nights: nights.and_then(|nights| nights.parse().ok()),
            rooms: guest.spec.rooms,
        };
        Self { metadata, spec }
    }
}

impl TryFrom<v2::Guest> for v1::Guest {
    type Error = String;

    fn try_from(guest: v2::Guest) -> Result<Self, String> {
        let v2::GuestSpec {
            first,
            last,
            nights,
            rooms,
        } = guest.spec;
        if first == "unspeakable" {
            return Err("some names cannot be said".to_owned());
        }
        assert_ne!(first, "panic", "told to");
        let mut metadata = guest.metadata;
        if let Some(nights) = nights {
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert(NIGHTS.to_owned(), nights.to_string());
        }
        let name = format!("{first} {last}").trim().to_owned();
        Ok(Self {
            metadata,
            spec: v1::GuestSpec { name, rooms },
        })
    }
}

impl From<v3::Guest> for v2::Guest {
    fn from(guest: v3::Guest) -> Self {
        let mut names = guest.spec.names.into_iter();
        let spec = v2::GuestSpec {
            first: names.next().unwrap_or_default(),
            last: names.next().unwrap_or_default(),
            nights: guest.spec.nights,
            rooms: guest.spec.rooms,
        };
        Self {
            metadata: guest.metadata,
            spec,
        }
    }
}

impl From<v2::Guest> for v3::Guest {
    fn from(guest: v2::Guest) -> Self {
        let v2::GuestSpec {
            first,
            last,
            nights,
            rooms,
        } = guest.spec;
        let spec = v3::GuestSpec {
            names: vec![first, last],
            nights,
            rooms,
        };
        Self {
            metadata: guest.metadata,
            spec,
        }
    }
}

struct GuestWebhook;

impl Defaulter<v2::Guest> for GuestWebhook {
    async fn default(
        &self,
        guest: &mut v2::Guest,
        cx: &Request<v2::Guest>,
    ) -> Result<(), Rejection> {
        guest.spec.nights.get_or_insert(1);
        if !guest.spec.rooms.is_empty() {
            // A new guest sleeps above those who are known.
            let floor = i32::from(cx.old().is_none());
            for room in &mut guest.spec.rooms {
                room.floor.get_or_insert(floor);
            }
        }
        if guest.spec.first == "huge" {
            guest.spec.last = "x".repeat(HUGE);
        }
        let who = cx.user().username.clone();
        let annotations = guest.metadata.annotations.get_or_insert_default();
        annotations
            .entry("hotel.example.com/by".to_owned())
            .or_insert(who);
        Ok(())
    }
}

impl Validator<v2::Guest> for GuestWebhook {
    async fn validate_create(
        &self,
        guest: &v2::Guest,
        _cx: &Request<v2::Guest>,
    ) -> Result<Warnings, Rejection> {
        let mut errors = FieldErrors::default();
        if guest.spec.first.is_empty() {
            errors.push(FieldError::required("spec.first", "who is it"));
        }
        if let Some(nights) = guest.spec.nights.filter(|nights| *nights < 1) {
            errors.push(FieldError::invalid(
                "spec.nights",
                nights,
                "must be at least 1",
            ));
        }
        errors.check()?;
        Ok(match guest.spec.nights {
            Some(100..) => vec!["that is a long stay".to_owned()],
            _ => Warnings::new(),
        })
    }

    async fn validate_update(
        &self,
        old: &v2::Guest,
        new: &v2::Guest,
        _cx: &Request<v2::Guest>,
    ) -> Result<Warnings, Rejection> {
        if old.spec.first != new.spec.first {
            return Err(FieldError::forbidden("spec.first", "is immutable").into());
        }
        Ok(Warnings::new())
    }

    async fn validate_delete(
        &self,
        guest: &v2::Guest,
        _cx: &Request<v2::Guest>,
    ) -> Result<Warnings, Rejection> {
        if guest
            .metadata
            .labels
            .as_ref()
            .is_some_and(|labels| labels.contains_key("owes"))
        {
            return Err(Rejection::forbidden("the bill is open"));
        }
        Ok(Warnings::new())
    }
}

/// A second validator of the same kind.
struct Superstition;

impl Validator<v2::Guest> for Superstition {
    async fn validate_create(
        &self,
        guest: &v2::Guest,
        cx: &Request<v2::Guest>,
    ) -> Result<Warnings, Rejection> {
        if guest.spec.nights == Some(13) {
            let dry = if cx.dry_run() {
                ", even in a dry run"
            } else {
                ""
            };
            return Err(Rejection::forbidden(format!("13 nights{dry}")));
        }
        Ok(Warnings::new())
    }
}

/// Allows no shells, and at most ten replicas, and reads guests.
async fn review(request: AdmissionRequest) -> Result<Allowed, Rejection> {
    match (
        request.operation(),
        request.resource(),
        request.sub_resource(),
    ) {
        ("CONNECT", "pods", Some("exec")) => {
            if request.object()["command"][0] == "sh" {
                let message = format!("no shell in `{}`", request.name());
                return Err(Rejection::forbidden(message));
            }
            Ok(Allowed::default())
        }
        ("UPDATE", "deployments", Some("scale")) => {
            let many = request.object()["spec"]["replicas"].as_i64() > Some(10);
            let fewer = json!({ "op": "replace", "path": "/spec/replicas", "value": 10 });
            Ok(Allowed::default().with_patch(many.then_some(fewer)))
        }
        _ if request.object()["kind"] == "Guest" => Ok(Allowed::default()),
        _ => Err(Rejection::bad_request("not a request to review")),
    }
}

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    manager: Options,
    /// Serves no defaulter, as another version of the operator may.
    #[arg(long)]
    without_defaulter: bool,
    /// Serves no validator.
    #[arg(long)]
    without_validator: bool,
    /// Migrates stored guests to v2.
    #[arg(long)]
    migrate: bool,
}

/// Runs the operator, with the arguments after `webhooks`.
#[tokio::main]
pub async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse_from(std::env::args().skip(1));
    let mut manager = Manager::new(cli.manager, ID).await?;
    if !cli.without_defaulter {
        manager.defaulter::<v2::Guest>(GuestWebhook);
    }
    if !cli.without_validator {
        manager.validator::<v2::Guest>(GuestWebhook);
        manager.validator_at::<v2::Guest>("/check-nights", Superstition);
        manager.admission_at("/review", review);
    }
    manager.spoke::<v2::Guest, v1::Guest>();
    manager.spoke::<v2::Guest, v3::Guest>();
    if cli.migrate {
        let migration = manager.migrate_storage::<v2::Guest>();
        migration.rate(100).grace(Duration::from_secs(1));
    }
    manager.run().await
}

/// The CRD with all versions; `stored` is the storage version, and the server at `port` converts.
pub fn crd(stored: &str, port: u16) -> anyhow::Result<Value> {
    let crds = vec![v1::Guest::crd(), v2::Guest::crd(), v3::Guest::crd()];
    let crd = kube::core::crd::merge_crds(crds, stored)?;
    let mut crd = serde_json::to_value(crd)?;
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        // A guest may have fields that no type knows.
        let spec = &mut version["schema"]["openAPIV3Schema"]["properties"]["spec"];
        spec["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    crd["spec"]["conversion"] = json!({ "strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": { "url": format!("https://127.0.0.1:{port}/convert") },
    } });
    Ok(crd)
}

/// The configuration of the defaulter or of the validator, as deployed.
pub fn configuration(mutating: bool, port: u16) -> Value {
    let (kind, word, verbs) = if mutating {
        ("Mutating", "mutate", vec!["CREATE", "UPDATE"])
    } else {
        ("Validating", "validate", vec!["CREATE", "UPDATE", "DELETE"])
    };
    let path = format!("/{word}-hotel-example-com-v2-guest");
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": format!("{kind}WebhookConfiguration"),
        "metadata": { "name": format!("guests-{}-webhook-configuration", kind.to_lowercase()) },
        "webhooks": [{
            "name": format!("{word}-guest.hotel.example.com"),
            "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "clientConfig": { "url": format!("https://127.0.0.1:{port}{path}") },
            "rules": [{
                "apiGroups": ["hotel.example.com"], "apiVersions": ["v2"],
                "resources": ["guests"], "operations": verbs,
            }],
        }],
    })
}
