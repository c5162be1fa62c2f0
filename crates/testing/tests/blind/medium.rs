//! Bugs that need a fault, a second object or a second writer.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
};
use kbr_testing::{External, FakeApi, Simulation};
use kube::{
    ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
};
use manager::{
    Context, Key, Manager, kind,
    webhook::{Defaulter, Rejection, Request},
    with,
};
use serde_json::json;

use crate::{
    Case,
    kinds::{
        App, CleanedUp, FINALIZER, REGISTRY, Reconciled, app, app_of, app_of_entry, deployment,
        done, edit, entry, gone, map, part_maps, phase, prune, raw, service, status, trial, uid,
    },
};

pub fn cases() -> [Case; 10] {
    [
        two_namespaces_share_a_name(),
        id_is_only_in_the_status(),
        failed_removal_is_ignored(),
        status_is_written_at_transitions_only(),
        first_page_is_all_that_is_pruned(),
        selector_catches_a_neighbour(),
        selector_changes(),
        conditions_overwrite_each_other(),
        error_of_a_write_is_ignored(),
        defaulter_appends(),
    ]
}

/// Apps of one name in two namespaces write the same entry of the registry.
/// The story has to name the entry `web`, which two apps fight for, or which lacks the other's.
fn two_namespaces_share_a_name() -> Case {
    fn name<const BUGGY: bool>(key: &Key) -> String {
        if BUGGY {
            key.name().to_owned()
        } else {
            format!("{}.{}", key.name(), key.namespace().unwrap_or_default())
        }
    }
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        cx.apply_unowned(&entry(&name::<BUGGY>(cx.key()), &app))
            .await?;
        done()
    }
    async fn clean_up<const BUGGY: bool>(_app: Arc<App>, cx: Context<App>) -> CleanedUp {
        let key = Key::new(Some(REGISTRY), &name::<BUGGY>(cx.key()));
        let found = cx.get_live::<ConfigMap>(key).await?;
        if let Some(map) = found.filter(|map| app_of_entry(map).as_ref() == Some(cx.key())) {
            cx.delete(&*map).await?;
        }
        gone()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .watches(kind::<ConfigMap>(), |map, _| {
                Ok(app_of_entry(map).into_iter().collect())
            })
            .finalizer(FINALIZER, clean_up::<BUGGY>)
            .reconcile(reconcile::<BUGGY>);
    }
    fn app_in(namespace: &str) -> App {
        let mut app = app("web");
        app.metadata.namespace = Some(namespace.to_owned());
        app
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app_in("blue"))
            .object(&app_in("red"))
            .user("changes an image", |api: &FakeApi| {
                api.edit::<App>("red", "web", |app| app.spec.image = "web:2".into());
            })
    }
    Case {
        name: "two namespaces share a name",
        bug: "the entry in another namespace is named without the namespace of its app",
        story: "ConfigMap registry/web is written by two apps in turn, or has the wrong one's image",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The service makes up an id, which only the status holds: after a crash, it makes up another.
/// The story has to name the second account at the service.
fn id_is_only_in_the_status() -> Case {
    type Accounts = Arc<External<BTreeMap<u32, String>>>;

    /// The service accepts a key with which it finds an account that it has opened already.
    fn open(all: &mut BTreeMap<u32, String>, owner: String, is_keyed: bool) -> u32 {
        let known = all.iter().find(|(_, other)| is_keyed && **other == owner);
        if let Some((&id, _)) = known {
            return id;
        }
        let id = (1..=u32::MAX)
            .find(|id| !all.contains_key(id))
            .unwrap_or_default();
        all.insert(id, owner);
        id
    }
    async fn reconcile<const BUGGY: bool>(
        app: Arc<App>,
        cx: Context<App>,
        accounts: Accounts,
    ) -> Reconciled {
        if BUGGY && status(&app).id.is_some() {
            return done();
        }
        let id = accounts
            .call("opens an account", |all| open(all, uid(&app), !BUGGY))
            .await?;
        cx.status(|status| status.id = Some(id.to_string()));
        done()
    }
    async fn clean_up<const BUGGY: bool>(
        app: Arc<App>,
        _cx: Context<App>,
        accounts: Accounts,
    ) -> CleanedUp {
        let known = status(&app).id;
        let close = |all: &mut BTreeMap<u32, String>| {
            if BUGGY {
                all.retain(|id, _| Some(id.to_string()) != known);
            } else {
                all.retain(|_, owner| *owner != uid(&app));
            }
        };
        accounts.call("closes an account", close).await?;
        gone()
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let accounts: Accounts = Arc::new(External::new("accounts"));
        trial(move |manager| {
            manager
                .controller::<App>("app")
                .finalizer(FINALIZER, with(&accounts, clean_up::<BUGGY>))
                .reconcile(with(&accounts, reconcile::<BUGGY>));
        })
        .object(&app("web"))
    }
    Case {
        name: "id is only in the status",
        bug: "a crash or a lost answer before the status has the id opens a second account",
        story: "two accounts of one app at the service, or one that is left",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The clean-up logs that the service has refused to remove the account, and is done.
/// The story has to name the account that is left at the service.
fn failed_removal_is_ignored() -> Case {
    type Accounts = Arc<External<BTreeSet<String>>>;
    async fn reconcile(app: Arc<App>, _cx: Context<App>, accounts: Accounts) -> Reconciled {
        accounts
            .call("opens an account", |all| all.insert(uid(&app)))
            .await?;
        done()
    }
    async fn clean_up<const BUGGY: bool>(
        app: Arc<App>,
        cx: Context<App>,
        accounts: Accounts,
    ) -> CleanedUp {
        let closed = accounts
            .call("closes an account", |all| all.remove(&uid(&app)))
            .await;
        match closed {
            Err(error) if BUGGY => tracing::warn!(%error, app = cx.name(), "cannot close it"),
            closed => {
                closed?;
            }
        }
        gone()
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let accounts: Accounts = Arc::new(External::new("accounts"));
        trial(move |manager| {
            manager
                .controller::<App>("app")
                .finalizer(FINALIZER, with(&accounts, clean_up::<BUGGY>))
                .reconcile(with(&accounts, reconcile));
        })
        .object(&app("web"))
    }
    Case {
        name: "failed removal is ignored",
        bug: "the finalizer is removed although the call that closes the account has failed",
        story: "an account is left after a failed call",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The status is written only when the phase changes, so it goes on to describe an old generation.
/// The story has to name the image or the observed generation in the status.
fn status_is_written_at_transitions_only() -> Case {
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        cx.apply(&map(
            &format!("{}-settings", cx.name()),
            "image",
            &app.spec.image,
        ))
        .await?;
        if !BUGGY || phase(&app) != Some("Applied") {
            cx.status(|status| {
                status.phase = Some("Applied".to_owned());
                status.image = Some(app.spec.image.clone());
                status.observed_generation = app.metadata.generation;
            });
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<ConfigMap>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app("web"))
            .user("changes the image", |api: &FakeApi| {
                edit(api, |spec| spec.image = "web:2".into());
            })
    }
    Case {
        name: "status is written at transitions only",
        bug: "Applied stays Applied, so image and observedGeneration in the status stay old",
        story: "/status/image or /status/observedGeneration of App web",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// What is no longer wanted is looked for on the first page of a list.
/// The story has to name the map of the part that was removed.
fn first_page_is_all_that_is_pruned() -> Case {
    const PAGE: u32 = 2;

    fn is_child(map: &ConfigMap, app: &App) -> bool {
        let owners = map.owner_references().iter();
        owners.into_iter().any(|owner| owner.uid == uid(app))
    }
    async fn children<const BUGGY: bool>(
        app: &App,
        cx: &Context<App>,
    ) -> anyhow::Result<Vec<ConfigMap>> {
        let mut params = ListParams::default().limit(PAGE);
        let mut children = Vec::new();
        loop {
            let page = raw::<ConfigMap, _>(cx).list(&params).await?;
            children.extend(page.items.into_iter().filter(|map| is_child(map, app)));
            match page.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) if !BUGGY => params = params.continue_token(&next),
                _ => return Ok(children),
            }
        }
    }
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let wanted = part_maps(&app);
        for map in &wanted {
            cx.apply(map).await?;
        }
        let names: BTreeSet<_> = wanted.iter().map(kube::ResourceExt::name_any).collect();
        for map in children::<BUGGY>(&app, &cx).await? {
            if !names.contains(&map.name_any()) {
                cx.delete(&map).await?;
            }
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<ConfigMap>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app_of("web", &["cart", "login", "search"]))
            .user("removes a part", |api: &FakeApi| {
                edit(api, |spec| spec.parts.retain(|part| part != "search"));
            })
    }
    Case {
        name: "first page is all that is pruned",
        bug: "the continue token of a list is ignored, so later children are not pruned",
        story: "ConfigMap web-search is left over",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// An app prunes all maps of its tier, so it deletes those of another app of that tier.
/// The story has to say that the maps of two apps are deleted and created again and again.
fn selector_catches_a_neighbour() -> Case {
    const TIER: &str = "shop.example.com/tier";

    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let mut wanted = part_maps(&app);
        for map in &mut wanted {
            let label = (TIER.to_owned(), app.spec.tier.clone());
            map.metadata.labels = Some([label].into());
            cx.apply(map).await?;
        }
        if !BUGGY {
            prune(&cx, &wanted).await?;
            return done();
        }
        let maps = cx.list::<ConfigMap>();
        let namespace = cx.namespace().unwrap_or_default();
        let maps = maps
            .in_namespace(namespace)
            .with_label(TIER, &app.spec.tier);
        for map in maps.all()? {
            if !wanted
                .iter()
                .any(|other| other.metadata.name == map.metadata.name)
            {
                cx.delete(&*map).await?;
            }
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<ConfigMap>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app_of("api", &["orders"]))
            .object(&app_of("web", &["cart", "search"]))
            .user("removes a part", |api: &FakeApi| {
                edit(api, |spec| spec.parts.retain(|part| part == "cart"));
            })
    }
    Case {
        name: "selector catches a neighbour",
        bug: "children are pruned by a label that the children of another app have, too",
        story: "never idle, or the ConfigMaps of api and web are deleted by the other app",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The selector of a Deployment contains a field of the spec, and no one can change a selector.
/// The story has to name the Deployment whose selector is immutable.
fn selector_changes() -> Case {
    const TIER: &str = "tier";

    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let mut wanted: Deployment = deployment(&app)?;
        let tier = || (TIER.to_owned(), app.spec.tier.clone());
        let template = wanted.spec.template.metadata.get_or_insert_default();
        template.labels.get_or_insert_default().extend([tier()]);
        if BUGGY {
            let selected = &mut wanted.spec.selector.match_labels;
            selected.get_or_insert_default().extend([tier()]);
        }
        cx.apply(&wanted).await?;
        cx.ready("Deployed", "the Deployment matches the spec");
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .owns(kind::<Deployment>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>).object(&app("web")).kubelet().user(
            "changes the tier",
            |api: &FakeApi| {
                edit(api, |spec| spec.tier = "silver".into());
            },
        )
    }
    Case {
        name: "selector changes",
        bug: "a field of the spec is in the immutable selector of the Deployment",
        story: "reconciles of App web fail: the selector of Deployment web is immutable",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// Two controllers of one kind write the list of conditions, each with its own condition alone.
/// The story has to say that the status of the app never comes to rest, or lacks a condition.
fn conditions_overwrite_each_other() -> Case {
    async fn report<const BUGGY: bool>(
        app: &App,
        cx: &Context<App>,
        kind: &str,
    ) -> anyhow::Result<()> {
        if !BUGGY {
            cx.condition(kind, true, "Applied", "it matches the spec");
            return Ok(());
        }
        let known = status(app).conditions;
        if known.iter().any(|condition| condition.type_ == kind) {
            return Ok(());
        }
        let condition = Condition {
            last_transition_time: Time(cx.now()),
            message: "it matches the spec".to_owned(),
            observed_generation: app.metadata.generation,
            reason: "Applied".to_owned(),
            status: "True".to_owned(),
            type_: kind.to_owned(),
        };
        let patch = Patch::Merge(json!({ "status": { "conditions": [condition] } }));
        raw::<App, _>(cx)
            .patch_status(cx.name(), &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }
    async fn deploy<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        cx.apply(&map(
            &format!("{}-settings", cx.name()),
            "image",
            &app.spec.image,
        ))
        .await?;
        report::<BUGGY>(&app, &cx, "Deployed").await?;
        done()
    }
    async fn publish<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        cx.apply(&service(&app)?).await?;
        report::<BUGGY>(&app, &cx, "Published").await?;
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("deployer")
            .owns(kind::<ConfigMap>())
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .without_automatic_ready()
            .reconcile(deploy::<BUGGY>);
        manager
            .controller::<App>("publisher")
            .owns(kind::<Service>())
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .without_automatic_ready()
            .reconcile(publish::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app("web"))
            .user("changes the port", |api: &FakeApi| {
                edit(api, |spec| spec.port = Some(9090));
            })
    }
    Case {
        name: "conditions overwrite each other",
        bug: "two controllers replace the list of conditions, each with its own one",
        story: "never idle: writes of the status of App web, or a condition is missing",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The error of a write is logged, and nothing tries it again.
/// The story has to name the Service, after a request that was refused.
fn error_of_a_write_is_ignored() -> Case {
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        cx.apply(&deployment(&app)?).await?;
        match cx.apply(&service(&app)?).await {
            Err(error) if BUGGY => tracing::warn!(%error, "cannot apply the Service"),
            applied => drop(applied?),
        }
        cx.status(|status| status.phase = Some("Applied".to_owned()));
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<Deployment>())
            .owns(kind::<Service>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>).object(&app("web")).kubelet().user(
            "changes the port",
            |api: &FakeApi| {
                edit(api, |spec| spec.port = Some(9090));
            },
        )
    }
    Case {
        name: "error of a write is ignored",
        bug: "a refused write of the Service is logged and not tried again",
        story: "Service web is missing or has the old port, after a refused request",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// A defaulter adds a part at each write, also if the part is there.
/// The story has to name the parts in the spec of the app, or their count in its status.
fn defaulter_appends() -> Case {
    struct Parts<const BUGGY: bool>;

    impl<const BUGGY: bool> Defaulter<App> for Parts<BUGGY> {
        async fn default(&self, app: &mut App, _cx: &Request<App>) -> Result<(), Rejection> {
            let part = "metrics".to_owned();
            if BUGGY || !app.spec.parts.contains(&part) {
                app.spec.parts.push(part);
            }
            Ok(())
        }
    }
    async fn reconcile(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let wanted = part_maps(&app);
        for map in &wanted {
            cx.apply(map).await?;
        }
        prune(&cx, &wanted).await?;
        cx.status(|status| status.count = i32::try_from(app.spec.parts.len()).ok());
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<ConfigMap>())
            .reconcile(reconcile);
        manager.defaulter::<App>(Parts::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app_of("web", &["cart"]))
            .user("adds a part", |api: &FakeApi| {
                edit(api, |spec| spec.parts.push("search".to_owned()));
            })
    }
    Case {
        name: "defaulter appends",
        bug: "the defaulting webhook adds its part at each write instead of once",
        story: "/spec/parts of App web, or /status/count",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}
