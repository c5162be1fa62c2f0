//! Bugs that a review may find.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use k8s_openapi::{
    ByteString,
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace, Secret, Service},
    },
};
use kbr_testing::{External, FakeApi, Simulation, simulate_client};
use kube::{
    Api, Client, CustomResourceExt as _, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{Controller, controller, watcher},
};
use manager::{Context, Key, Manager, Reader, kind, waiting, with};

use crate::{
    Case,
    kinds::{
        APP, App, CleanedUp, FINALIZER, Failure, REGISTRY, Reconciled, app, app_of, app_of_entry,
        available, checksum, deployment, done, edit, entry, gone, map, part_maps, phase, prune,
        raw, secret, service, trial, uid,
    },
};

pub fn cases() -> [Case; 10] {
    [
        parts_are_not_pruned(),
        zero_replicas_are_left_out(),
        owns_is_forgotten(),
        account_has_no_finalizer(),
        missing_entry_blocks_deletion(),
        password_is_made_anew(),
        labels_of_others_are_lost(),
        phase_is_not_reset(),
        rotated_secret_is_not_noticed(),
        service_is_never_updated(),
    ]
}

/// A part that the spec no longer names keeps its map.
/// The story has to name the map of the part that was removed.
fn parts_are_not_pruned() -> Case {
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let wanted = part_maps(&app);
        for map in &wanted {
            cx.apply(map).await?;
        }
        if !BUGGY {
            prune(&cx, &wanted).await?;
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
            .object(&app_of("web", &["cart", "search"]))
            .user("removes a part", |api: &FakeApi| {
                edit(api, |spec| spec.parts.retain(|part| part == "cart"));
            })
    }
    Case {
        name: "parts are not pruned",
        bug: "a part that leaves the spec keeps its ConfigMap",
        story: "ConfigMap web-search is left over",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The patch of a Deployment leaves out a zero, as clients do that omit empty values: the old replicas go on.
/// The story has to name the replicas of the Deployment.
fn zero_replicas_are_left_out() -> Case {
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let mut wanted = deployment(&app)?;
        if BUGGY {
            let replicas = wanted.spec.replicas;
            wanted.spec.replicas = replicas.filter(|&replicas| replicas != 0);
        }
        if cx.children::<Deployment>()?.is_empty() {
            cx.create(&wanted).await?;
        } else {
            let params = PatchParams::default();
            raw::<Deployment, _>(&cx)
                .patch(cx.name(), &params, &Patch::Merge(&wanted))
                .await?;
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<Deployment>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>).object(&app("web")).kubelet().user(
            "scales to zero",
            |api: &FakeApi| {
                edit(api, |spec| spec.replicas = Some(0));
            },
        )
    }
    Case {
        name: "zero replicas are left out",
        bug: "replicas 0 is omitted from the merge patch, so the Deployment keeps its old number",
        story: "/spec/replicas of Deployment web",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The status follows a Deployment whose changes trigger nothing.
/// The story has to name the status of the app, which only another reconcile corrects.
fn owns_is_forgotten() -> Case {
    async fn reconcile(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let deployment = cx.apply(&deployment(&app)?).await?;
        let available = available(&deployment);
        cx.status(|status| {
            let is_ready = available >= app.spec.replicas.unwrap_or(1);
            let phase = if is_ready { "Running" } else { "Starting" };
            status.phase = Some(phase.to_owned());
            status.count = Some(available);
        });
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let controller = manager.controller::<App>("app");
        if BUGGY {
            controller.reconcile(reconcile);
        } else {
            controller.owns(kind::<Deployment>()).reconcile(reconcile);
        }
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app("web"))
            .kubelet()
            .user("scales up", |api: &FakeApi| {
                edit(api, |spec| spec.replicas = Some(3));
            })
    }
    Case {
        name: "owns is forgotten",
        bug: "the Deployment is not watched, so the status never follows it",
        story: "status of App web (phase, count) changes only by a resync, or differs",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// An account outside the cluster has no clean-up.
/// The story has to name the account that is left at the service.
fn account_has_no_finalizer() -> Case {
    type Accounts = Arc<External<BTreeSet<String>>>;
    async fn reconcile(app: Arc<App>, cx: Context<App>, accounts: Accounts) -> Reconciled {
        accounts
            .call("opens an account", |all| all.insert(uid(&app)))
            .await?;
        cx.status(|status| status.phase = Some("Open".to_owned()));
        done()
    }
    async fn clean_up(app: Arc<App>, _cx: Context<App>, accounts: Accounts) -> CleanedUp {
        accounts
            .call("closes an account", |all| all.remove(&uid(&app)))
            .await?;
        gone()
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let accounts: Accounts = Arc::new(External::new("accounts"));
        trial(move |manager| {
            let controller = manager.controller::<App>("app");
            if BUGGY {
                controller.reconcile(with(&accounts, reconcile));
            } else {
                controller
                    .finalizer(FINALIZER, with(&accounts, clean_up))
                    .reconcile(with(&accounts, reconcile));
            }
        })
        .object(&app("web"))
    }
    Case {
        name: "account has no finalizer",
        bug: "no finalizer closes the account outside the cluster",
        story: "an account is left at the service",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The clean-up fails for ever if its entry is already gone, for example since it ended after the deletion.
/// The story has to name the app that stays, or the error 404 of its clean-up.
fn missing_entry_blocks_deletion() -> Case {
    fn name(key: &Key) -> String {
        format!("{}.{}", key.name(), key.namespace().unwrap_or_default())
    }
    async fn reconcile(app: Arc<App>, cx: Context<App>) -> Reconciled {
        cx.apply_unowned(&entry(&name(cx.key()), &app)).await?;
        done()
    }
    async fn clean_up<const BUGGY: bool>(_app: Arc<App>, cx: Context<App>) -> CleanedUp {
        let maps: Api<ConfigMap> = Api::namespaced(cx.client(), REGISTRY);
        let params = DeleteParams::default();
        match maps.delete(&name(cx.key()), &params).await {
            Err(kube::Error::Api(status)) if status.code == 404 && !BUGGY => {}
            deleted => drop(deleted?),
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
            .reconcile(reconcile);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app("web"))
            .user("changes the image", |api: &FakeApi| {
                edit(api, |spec| spec.image = "web:2".into());
            })
    }
    Case {
        name: "missing entry blocks deletion",
        bug: "the clean-up takes a 404 of its deletion for a failure",
        story: "App web stays, or its clean-up fails with 404",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// Each reconcile makes another password, and each password triggers a reconcile.
/// The story has to say that it never ends, with writes of the Secret.
fn password_is_made_anew() -> Case {
    async fn known(cx: &Context<App>, name: &str) -> anyhow::Result<Option<ByteString>> {
        let secret = match cx.get::<Secret>(name)? {
            Some(secret) => Some(secret),
            None => cx.get_live::<Secret>(name).await?,
        };
        let data = secret.as_ref().and_then(|secret| secret.data.as_ref());
        Ok(data.and_then(|data| data.get("password").cloned()))
    }
    fn random(cx: &Context<App>) -> ByteString {
        let letters = cx.random::<16>().map(|byte| b'a' + byte % 26);
        ByteString(letters.into())
    }
    async fn reconcile<const BUGGY: bool>(_app: Arc<App>, cx: Context<App>) -> Reconciled {
        let name = format!("{}-password", cx.name());
        let known = if BUGGY {
            None
        } else {
            known(&cx, &name).await?
        };
        let mut secret = Secret::default();
        secret.metadata.name = Some(name);
        let password = known.unwrap_or_else(|| random(&cx));
        secret.data = Some([("password".to_owned(), password)].into());
        cx.apply(&secret).await?;
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<Secret>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>).object(&app("web"))
    }
    Case {
        name: "password is made anew",
        bug: "a random password in each reconcile, which triggers the next one",
        story: "never idle: writes of Secret web-password again and again",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The operator replaces all labels of a Namespace, which has labels of others.
/// The story has to name the Namespace and its label `team`.
fn labels_of_others_are_lost() -> Case {
    fn label(cx: &Context<App>) -> String {
        format!("tier.shop.example.com/{}", cx.name())
    }
    async fn write(
        cx: &Context<App>,
        namespace: &Namespace,
        tier: Option<&str>,
    ) -> anyhow::Result<()> {
        let mut changed = namespace.clone();
        let own = tier.map(|tier| (label(cx), tier.to_owned()));
        changed.metadata.labels = Some(own.into_iter().collect());
        if changed != *namespace {
            let api: Api<Namespace> = Api::all(cx.client());
            let params = PostParams::default();
            api.replace(&namespace.name_any(), &params, &changed)
                .await?;
        }
        Ok(())
    }
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let name = cx.namespace().unwrap_or_default();
        let Some(namespace) = cx.get_live::<Namespace>(name).await? else {
            return done();
        };
        if BUGGY {
            write(&cx, &namespace, Some(&app.spec.tier)).await?;
        } else {
            let set = |namespace: &mut Namespace| {
                let tier = app.spec.tier.clone();
                namespace.labels_mut().insert(label(&cx), tier);
            };
            cx.update(&*namespace, set).await?;
        }
        done()
    }
    async fn clean_up<const BUGGY: bool>(_app: Arc<App>, cx: Context<App>) -> CleanedUp {
        let name = cx.namespace().unwrap_or_default();
        if let Some(namespace) = cx.get_live::<Namespace>(name).await? {
            if BUGGY {
                write(&cx, &namespace, None).await?;
            } else {
                let remove = |namespace: &mut Namespace| {
                    namespace.labels_mut().remove(&label(&cx));
                };
                cx.update(&*namespace, remove).await?;
            }
        }
        gone()
    }
    fn apps_in(namespace: &Namespace, cached: &Reader) -> anyhow::Result<Vec<Key>> {
        let name = namespace.name_any();
        cached.list::<App>().in_namespace(&name).keys()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .watches(kind::<Namespace>(), apps_in)
            .finalizer(FINALIZER, clean_up::<BUGGY>)
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some("default".to_owned());
        namespace.metadata.labels = Some([("team".to_owned(), "red".to_owned())].into());
        trial(register::<BUGGY>)
            .world(&namespace)
            .object(&app("web"))
            .user("changes the tier", |api: &FakeApi| {
                edit(api, |spec| spec.tier = "silver".into());
            })
            .always("the namespace keeps its other labels", |api: &FakeApi| {
                let namespace = api.get::<Namespace>("", "default");
                namespace.is_none_or(|namespace| namespace.labels().contains_key("team"))
            })
    }
    Case {
        name: "labels of others are lost",
        bug: "the labels of a Namespace are replaced instead of merged",
        story: "the Namespace loses its label team",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The phase that reports a missing Secret stays when the Secret is there.
/// The story has to name the phase of the app.
fn phase_is_not_reset() -> Case {
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        cx.apply(&map(
            &format!("{}-settings", cx.name()),
            "image",
            &app.spec.image,
        ))
        .await?;
        let name = app.spec.secret.as_deref().unwrap_or("settings");
        if cx.get::<Secret>(name)?.is_none() {
            cx.status(|status| status.phase = Some("MissingSecret".to_owned()));
        } else if !BUGGY || phase(&app).is_none() {
            cx.status(|status| status.phase = Some("Running".to_owned()));
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<ConfigMap>())
            .watches(kind::<Secret>(), apps_with)
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let mut app = app("web");
        app.spec.secret = Some("login".to_owned());
        trial(register::<BUGGY>)
            .object(&app)
            .user("creates the Secret", |api: &FakeApi| {
                api.put(&secret("login", "user", "admin"));
            })
    }
    Case {
        name: "phase is not reset",
        bug: "the phase MissingSecret stays after the Secret has been created",
        story: "/status/phase of App web",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The apps that name a Secret.
fn apps_with(secret: &Secret, cached: &Reader) -> anyhow::Result<Vec<Key>> {
    fn named(app: &App) -> Vec<String> {
        let name = app.spec.secret.as_deref();
        let key = name.map(|name| Key::new(app.namespace().as_deref(), name).to_string());
        key.into_iter().collect()
    }
    cached.list::<App>().by(named, Key::of(secret)).keys()
}

/// The Pods have a checksum of a Secret, but the Secret is not watched.
/// The story has to name the annotation with the checksum on the Deployment.
fn rotated_secret_is_not_noticed() -> Case {
    fn checksum_of(secret: &Secret) -> String {
        let entries = secret.data.iter().flatten();
        checksum(entries.flat_map(|(key, value)| [key.as_bytes(), &value.0]))
    }
    async fn reconcile(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let name = app.spec.secret.as_deref().unwrap_or("settings");
        let Some(secret) = cx.get::<Secret>(name)? else {
            return Err(waiting(
                "SecretNotFound",
                format!("there is no Secret `{name}`"),
            ));
        };
        let mut deployment = deployment(&app)?;
        let metadata = deployment.spec.template.metadata.get_or_insert_default();
        let annotation = (APP.to_owned(), checksum_of(&secret));
        metadata.annotations = Some([annotation].into());
        cx.apply(&deployment).await?;
        cx.ready("Deployed", "the Deployment has the checksum of the Secret");
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let controller = manager
            .controller::<App>("app")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .owns(kind::<Deployment>());
        if BUGGY {
            controller.reads(kind::<Secret>()).reconcile(reconcile);
        } else {
            controller
                .watches(kind::<Secret>(), apps_with)
                .reconcile(reconcile);
        }
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let mut app = app("web");
        app.spec.secret = Some("login".to_owned());
        trial(register::<BUGGY>)
            .world(&secret("login", "password", "first"))
            .object(&app)
            .kubelet()
            .user("rotates the Secret", |api: &FakeApi| {
                api.edit::<Secret>("default", "login", |login| {
                    login.data = secret("login", "password", "second").data;
                });
            })
    }
    Case {
        name: "rotated secret is not noticed",
        bug: "the Secret is read and not watched, so its rotation triggers nothing",
        story: "the annotation with the checksum on Deployment web is old",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// A Service is created once, and its later changes are lost: a controller of kube's own runtime.
/// The story has to name the port of the Service.
fn service_is_never_updated() -> Case {
    async fn apply<const BUGGY: bool>(app: &App, client: Client) -> anyhow::Result<()> {
        let namespace = app.namespace().unwrap_or_default();
        let services: Api<Service> = Api::namespaced(client, &namespace);
        let mut service = service(app)?;
        service.metadata.owner_references = app.controller_owner_ref(&()).map(|owner| vec![owner]);
        if BUGGY {
            match services.create(&PostParams::default(), &service).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                created => drop(created?),
            }
        } else {
            let params = PatchParams::apply("shop").force();
            services
                .patch(&app.name_any(), &params, &Patch::Apply(&service))
                .await?;
        }
        Ok(())
    }
    async fn reconcile<const BUGGY: bool>(
        app: Arc<App>,
        client: Arc<Client>,
    ) -> Result<controller::Action, Failure> {
        let applied = apply::<BUGGY>(&app, (*client).clone()).await;
        applied.map_err(Failure)?;
        Ok(controller::Action::await_change())
    }
    async fn run<const BUGGY: bool>(client: Client) {
        let config = watcher::Config::default;
        Controller::new(Api::<App>::all(client.clone()), config())
            .owns(Api::<Service>::all(client.clone()), config())
            .run(
                reconcile::<BUGGY>,
                |_, _, _| controller::Action::requeue(Duration::from_secs(5)),
                Arc::new(client),
            )
            .for_each(async |_| {})
            .await;
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        simulate_client(run::<BUGGY>)
            .define(&App::crd())
            .object(&app("web"))
            .user("changes the port", |api: &FakeApi| {
                edit(api, |spec| spec.port = Some(9090));
            })
    }
    Case {
        name: "service is never updated",
        bug: "create, and ignore that it exists: the Service never gets another port",
        story: "/spec/ports of Service web",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}
