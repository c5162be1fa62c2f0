//! Test the fake API server where it does at once what takes a cluster a while, and where it rejects requests.
//! Everything that it does like the real one is compared with that in `real/`.

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::{
    admissionregistration::v1::ValidatingWebhookConfiguration,
    core::v1::{ConfigMap, Namespace, Secret},
};
use kbr_testing::FakeApi;
use kube::{
    Api, ResourceExt,
    api::{
        DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, PropagationPolicy,
        WatchParams,
    },
};
use manager::{
    Manager, metadata,
    webhook::{Defaulter, FieldError, Rejection, Request, Validator, Warnings},
};
use serde_json::json;

fn object(name: &str, owners: &[&ConfigMap]) -> ConfigMap {
    let reference = |owner: &&ConfigMap| {
        serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(), "uid": owner.uid(),
            "blockOwnerDeletion": true,
        }))
    };
    let owners: Result<Vec<_>, _> = owners.iter().map(reference).collect();
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            owner_references: Some(owners.unwrap()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

/// A server, and its `ConfigMap`s.
fn maps() -> (FakeApi, Api<ConfigMap>) {
    let api = FakeApi::new();
    let maps = Api::default_namespaced(api.client());
    (api, maps)
}

async fn create(maps: &Api<ConfigMap>, name: &str, owners: &[&ConfigMap]) -> ConfigMap {
    let object = object(name, owners);
    maps.create(&PostParams::default(), &object).await.unwrap()
}

async fn names(maps: &Api<ConfigMap>) -> Vec<String> {
    let all = maps.list(&ListParams::default()).await.unwrap();
    all.iter().map(ResourceExt::name_any).collect()
}

async fn delete(maps: &Api<ConfigMap>, name: &str, policy: PropagationPolicy) {
    let params = DeleteParams {
        propagation_policy: Some(policy),
        ..DeleteParams::default()
    };
    maps.delete(name, &params).await.unwrap();
}

#[tokio::test]
async fn an_object_is_deleted_with_its_last_owner() {
    let (_api, maps) = maps();
    let a = create(&maps, "a", &[]).await;
    let b = create(&maps, "b", &[]).await;
    let child = create(&maps, "child", &[&a, &b]).await;
    create(&maps, "grandchild", &[&child]).await;
    delete(&maps, "a", PropagationPolicy::Background).await;
    assert_eq!(names(&maps).await, ["b", "child", "grandchild"]);
    let left = maps.get("child").await.unwrap();
    assert_eq!(left.owner_references().len(), 1);
    delete(&maps, "b", PropagationPolicy::Background).await;
    assert_eq!(names(&maps).await, [""; 0]);
}

#[tokio::test]
async fn orphans_are_kept_without_their_owner() {
    let (_api, maps) = maps();
    let a = create(&maps, "a", &[]).await;
    create(&maps, "child", &[&a]).await;
    delete(&maps, "a", PropagationPolicy::Orphan).await;
    let child = maps.get("child").await.unwrap();
    assert!(child.owner_references().is_empty());
}

#[tokio::test]
async fn foreground_deletion_waits_for_the_dependents() {
    let (_api, maps) = maps();
    let a = create(&maps, "a", &[]).await;
    create(&maps, "child", &[&a]).await;
    let finalizers = |list: &[&str]| Patch::Merge(json!({"metadata": {"finalizers": list}}));
    let params = PatchParams::default();
    let held = finalizers(&["example.com/f"]);
    maps.patch("child", &params, &held).await.unwrap();
    delete(&maps, "a", PropagationPolicy::Foreground).await;
    assert_eq!(names(&maps).await, ["a", "child"]);
    let waiting = maps.get("a").await.unwrap();
    assert_eq!(waiting.finalizers(), ["foregroundDeletion"]);
    let free = finalizers(&[]);
    maps.patch("child", &params, &free).await.unwrap();
    assert_eq!(names(&maps).await, [""; 0]);
}

#[tokio::test]
async fn foreground_deletion_keeps_what_has_another_owner() {
    let (_api, maps) = maps();
    let a = create(&maps, "a", &[]).await;
    let b = create(&maps, "b", &[]).await;
    create(&maps, "child", &[&a, &b]).await;
    delete(&maps, "a", PropagationPolicy::Foreground).await;
    assert_eq!(names(&maps).await, ["b", "child"]);
    let child = maps.get("child").await.unwrap();
    assert_eq!(child.owner_references()[0].name, "b");
}

#[tokio::test]
async fn objects_are_deleted_with_their_namespace() {
    let (api, maps) = maps();
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some("default".to_owned());
    api.put(&namespace);
    create(&maps, "a", &[]).await;
    api.delete::<Namespace>("", "default");
    assert_eq!(names(&maps).await, [""; 0]);
}

#[tokio::test]
async fn an_unsupported_request_is_rejected_with_the_reason() {
    let (api, maps) = maps();
    let object = create(&maps, "a", &[]).await;
    let params = PatchParams::default();
    let strategic = Patch::Strategic(json!({"data": {"a": "b"}}));
    let refused = [
        maps.patch("a", &params, &strategic).await.err(),
        maps.list(&ListParams::default().fields("data.a=b"))
            .await
            .err(),
        Api::<Secret>::default_namespaced(api.client())
            .logs_of("a")
            .await
            .err(),
        api.client().apiserver_version().await.err(),
    ];
    for error in refused {
        let error = error.expect("this is beyond it").to_string();
        assert!(
            error.contains("the API server in memory cannot do this"),
            "{error}"
        );
        assert!(
            error.contains("help: test it on a real API server"),
            "{error}"
        );
    }
    assert_eq!(maps.get("a").await.unwrap().data, object.data);
}

/// A subresource that this server does not support.
trait Logs {
    async fn logs_of(&self, name: &str) -> kube::Result<String>;
}

impl Logs for Api<Secret> {
    async fn logs_of(&self, name: &str) -> kube::Result<String> {
        let path = format!("{}/{name}/log", self.resource_url());
        let request = hyper::Request::get(path).body(Vec::new()).unwrap();
        self.clone().into_client().request_text(request).await
    }
}

#[tokio::test]
async fn all_returns_every_object_of_its_kind_and_no_others() {
    let (api, maps) = maps();
    create(&maps, "b", &[]).await;
    create(&maps, "a", &[]).await;
    let elsewhere: Api<ConfigMap> = Api::namespaced(api.client(), "a");
    create(&elsewhere, "c", &[]).await;
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some("a".to_owned()),
            ..ObjectMeta::default()
        },
        ..Secret::default()
    };
    api.put(&secret);
    let all = api.all::<ConfigMap>();
    let names: Vec<_> = all.iter().map(ResourceExt::name_any).collect();
    assert_eq!(names, ["c", "a", "b"], "in order of namespace and name");
    assert!(all.iter().all(|map| map.metadata.managed_fields.is_none()));
    assert_eq!(api.all::<Secret>().len(), 1);
    assert_eq!(api.all::<Namespace>(), []);
    assert_eq!(api.all_json("secrets")[0]["metadata"]["name"], "a");
}

#[tokio::test]
async fn a_kind_that_is_uninstalled_has_no_objects_and_is_not_served() {
    let (api, maps) = maps();
    let mut object = object("a", &[]);
    object.metadata.finalizers = Some(vec!["example.com/stays".to_owned()]);
    api.put(&object);
    let watch = maps.watch(&WatchParams::default(), "0").await.unwrap();
    api.uninstall::<ConfigMap>();
    let events: Vec<_> = watch.map_ok(|event| format!("{event:?}")).collect().await;
    let events: Vec<String> = events.into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(events, ["Added event", "Deleted event"]);
    for result in [
        maps.list(&ListParams::default()).await.map(drop),
        maps.create(&PostParams::default(), &object).await.map(drop),
        maps.watch(&WatchParams::default(), "0").await.map(drop),
    ] {
        let error = result.unwrap_err();
        assert!(
            matches!(&error, kube::Error::Api(status) if status.code == 404),
            "{error}"
        );
    }
    let secrets: Api<Secret> = Api::default_namespaced(api.client());
    assert!(secrets.list(&ListParams::default()).await.is_ok());

    api.install::<ConfigMap>();
    assert_eq!(names(&maps).await, [""; 0]);
    create(&maps, "a", &[]).await;
}

#[tokio::test]
async fn a_reconcile_sees_that_an_optional_kind_is_not_installed() {
    let check = async |api: FakeApi, wanted: &str| {
        api.put(&Namespace {
            metadata: ObjectMeta {
                name: Some("a".to_owned()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        });
        let register = |manager: &mut Manager| {
            manager
                .controller::<Namespace>("namespace")
                .owns(metadata::<ConfigMap>().optional())
                .reconcile(async |_, cx| {
                    let installed = cx.is_installed::<ConfigMap>()?;
                    anyhow::bail!("installed: {installed}")
                });
        };
        let error = api.reconcile(register, "a").await.unwrap_err();
        assert_eq!(error.to_string(), wanted);
    };
    check(FakeApi::new(), "installed: true").await;
    let without = FakeApi::new();
    without.uninstall::<ConfigMap>();
    check(without, "installed: false").await;
}

/// Sets the captain of a `ConfigMap`, who may not be Hook.
struct Captain;

impl Defaulter<ConfigMap> for Captain {
    async fn default(&self, map: &mut ConfigMap, _: &Request<ConfigMap>) -> Result<(), Rejection> {
        let data = map.data.get_or_insert_default();
        data.entry("captain".to_owned())
            .or_insert_with(|| "Nemo".to_owned());
        Ok(())
    }
}

impl Validator<ConfigMap> for Captain {
    async fn validate_create(
        &self,
        map: &ConfigMap,
        _: &Request<ConfigMap>,
    ) -> Result<Warnings, Rejection> {
        let captain = map.data.as_ref().and_then(|data| data.get("captain"));
        if captain.is_some_and(|captain| captain == "Hook") {
            return Err(FieldError::forbidden("data.captain", "a pirate").into());
        }
        Ok(Warnings::new())
    }

    async fn validate_update(
        &self,
        _: &ConfigMap,
        new: &ConfigMap,
        cx: &Request<ConfigMap>,
    ) -> Result<Warnings, Rejection> {
        self.validate_create(new, cx).await
    }
}

fn with_webhooks(manager: &mut Manager) {
    manager.defaulter::<ConfigMap>(Captain);
    manager.validator::<ConfigMap>(Captain);
}

fn captain(name: &str, of: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"captain": of}})).unwrap()
}

#[tokio::test]
async fn webhooks_of_a_running_manager_review_what_clients_write() {
    let (api, maps) = maps();
    let _run = api.run(with_webhooks).unwrap();
    let made = create(&maps, "a", &[]).await;
    assert_eq!(made.data.unwrap()["captain"], "Nemo");
    let refused = maps
        .create(&PostParams::default(), &captain("b", "Hook"))
        .await;
    let refused = refused.unwrap_err().to_string();
    let expected = "ConfigMap \"b\" is invalid: data.captain: Forbidden: a pirate";
    assert!(refused.contains(expected), "{refused}");
    // The test may do what it wants.
    api.put(&captain("c", "Hook"));
    assert_eq!(names(&maps).await, ["a", "c"]);
}

#[tokio::test]
async fn a_webhook_configuration_selects_what_webhooks_review() {
    let (api, maps) = maps();
    let configuration: ValidatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": "captains"},
        "webhooks": [{
            "name": "captains.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"name": "operator", "namespace": "default", "path": "/validate--v1-configmap"}},
            "objectSelector": {"matchLabels": {"checked": "yes"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        }],
    }))
    .unwrap();
    api.put(&configuration);
    let _run = api.run(with_webhooks).unwrap();
    let mut hook = captain("hook", "Hook");
    assert!(maps.create(&PostParams::default(), &hook).await.is_ok());
    hook.metadata.name = Some("james".to_owned());
    hook.labels_mut()
        .insert("checked".to_owned(), "yes".to_owned());
    assert!(maps.create(&PostParams::default(), &hook).await.is_err());
}
