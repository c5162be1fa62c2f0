//! Bugs that need a crash, a lost answer or a user at a bad moment.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        batch::v1::Job,
        core::v1::{ConfigMap, Pod, Secret},
    },
    jiff::Timestamp,
};
use kbr_testing::{External, FakeApi, Simulation, simulate_client};
use kube::{
    Api, Client, CustomResourceExt as _, ResourceExt as _,
    api::PostParams,
    runtime::{Controller, controller, watcher},
};
use manager::{
    Action, Context, Key, Manager, Reader, kind, value_of, waiting,
    webhook::{Rejection, Request, Validator, Warnings},
    with,
};
use serde_json::json;

use crate::{
    Case,
    kinds::{
        App, AppSpec, CleanedUp, FINALIZER, Failure, Grant, Reconciled, app, checksum, deployment,
        done, edit, gone, has_ended, job, map, phase, prune, raw, secret, status, trial, uid,
    },
};

pub fn cases() -> [Case; 10] {
    [
        grant_of_a_former_app(),
        former_bucket_is_forgotten(),
        member_goes_after_its_pod(),
        generated_name_is_lost(),
        schedule_is_in_memory(),
        routes_are_overwritten(),
        locked_app_cannot_go(),
        credentials_go_first(),
        finalizer_comes_too_late(),
        migration_is_that_of_another_image(),
    ]
}

/// A grant stays bound to the uid of an app that was deleted and created again.
/// The story has to name the uid in the status of the grant, or in its map, after the app was replaced.
fn grant_of_a_former_app() -> Case {
    async fn reconcile<const BUGGY: bool>(grant: Arc<Grant>, cx: Context<Grant>) -> Reconciled {
        let app = cx.get::<App>(Key::new(cx.namespace(), &grant.spec.app))?;
        let status = grant.status.as_ref();
        let bound = status.and_then(|status| status.bound_to.clone());
        let found = app.and_then(|app| app.uid());
        let uid = if BUGGY { bound.or(found) } else { found };
        let phase = if let Some(uid) = &uid {
            let mut binding = map(&format!("{}-binding", cx.name()), "role", &grant.spec.role);
            let data = binding.data.get_or_insert_default();
            data.insert("app".to_owned(), uid.clone());
            cx.apply(&binding).await?;
            "Bound"
        } else {
            prune::<_, ConfigMap>(&cx, &[]).await?;
            "Waiting"
        };
        cx.status(|status| {
            status.phase = Some(phase.to_owned());
            status.bound_to = uid;
        });
        done()
    }
    fn app_of_grant(grant: &Grant) -> Vec<String> {
        let namespace = grant.namespace();
        vec![Key::new(namespace.as_deref(), &grant.spec.app).to_string()]
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<Grant>("grant")
            .owns(kind::<ConfigMap>())
            .watches(kind::<App>(), |app, cached| {
                cached.list::<Grant>().by(app_of_grant, Key::of(app)).keys()
            })
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let mut grant = Grant::default();
        grant.metadata.name = Some("alice".to_owned());
        grant.spec.app = "web".into();
        grant.spec.role = "reader".into();
        trial(register::<BUGGY>)
            .define(&Grant::crd())
            .object(&app("web"))
            .object(&grant)
            .user("changes the role", |api: &FakeApi| {
                api.edit::<Grant>("default", "alice", |grant| {
                    grant.spec.role = "writer".into();
                });
            })
    }
    Case {
        name: "grant of a former app",
        bug: "the uid of the app is kept after another app of that name has replaced it",
        story: "/status/boundTo of Grant alice, or ConfigMap alice-binding, has the uid of an app that is gone",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The name of a bucket that was renamed is known to the status alone, which may not have it yet.
/// The story has to name a bucket that is left at the service.
fn former_bucket_is_forgotten() -> Case {
    type Buckets = Arc<External<BTreeMap<String, String>>>;
    async fn remove_former<const BUGGY: bool>(
        app: &App,
        wanted: Option<&str>,
        buckets: &Buckets,
    ) -> anyhow::Result<()> {
        if !BUGGY {
            let is_kept = |name: &str, owner: &str| owner != uid(app) || Some(name) == wanted;
            return buckets
                .call("removes the app's other buckets", |all| {
                    all.retain(|name, owner| is_kept(name, owner));
                })
                .await;
        }
        if let Some(former) = status(app).id.filter(|former| Some(&**former) != wanted) {
            buckets
                .call("removes the former bucket", |all| all.remove(&former))
                .await?;
        }
        Ok(())
    }
    async fn reconcile<const BUGGY: bool>(
        app: Arc<App>,
        cx: Context<App>,
        buckets: Buckets,
    ) -> Reconciled {
        let wanted = app.spec.bucket.as_deref();
        if let Some(name) = wanted {
            let create = |all: &mut BTreeMap<String, String>| {
                let owner = all.entry(name.to_owned()).or_insert_with(|| uid(&app));
                *owner == uid(&app)
            };
            let is_own = buckets.call("creates a bucket", create).await?;
            anyhow::ensure!(is_own, "the bucket `{name}` belongs to someone else");
        }
        remove_former::<BUGGY>(&app, wanted, &buckets).await?;
        cx.status(|status| status.id = wanted.map(str::to_owned));
        done()
    }
    async fn clean_up<const BUGGY: bool>(
        app: Arc<App>,
        _cx: Context<App>,
        buckets: Buckets,
    ) -> CleanedUp {
        remove_former::<BUGGY>(&app, None, &buckets).await?;
        if BUGGY && let Some(name) = &app.spec.bucket {
            buckets
                .call("removes the bucket", |all| all.remove(name))
                .await?;
        }
        gone()
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let buckets: Buckets = Arc::new(External::new("buckets"));
        let mut app = app("web");
        app.spec.bucket = Some("images".to_owned());
        trial(move |manager| {
            manager
                .controller::<App>("app")
                .finalizer(FINALIZER, with(&buckets, clean_up::<BUGGY>))
                .reconcile(with(&buckets, reconcile::<BUGGY>));
        })
        .object(&app)
        .user("renames the bucket", |api: &FakeApi| {
            edit(api, |spec| spec.bucket = Some("media".to_owned()));
        })
    }
    Case {
        name: "former bucket is forgotten",
        bug: "a bucket whose name did not reach the status before it changed is never removed",
        story: "bucket images (or media, after a step back) is left at the service",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// A smaller app deletes the Pod first, and then looks at the Pods to see which members have to leave.
/// The story has to name the member that is left at the service.
fn member_goes_after_its_pod() -> Case {
    type Members = Arc<External<BTreeSet<String>>>;
    fn pod(app: &App, number: i32) -> anyhow::Result<Pod> {
        manager::from_json(json!({
            "metadata": { "name": format!("{}-{number}", app.name_any()) },
            "spec": { "containers": [{ "name": "main", "image": "member:1" }] },
        }))
    }
    fn member(app: &App, pod: &Pod) -> String {
        format!("{}/{}", uid(app), pod.name_any())
    }
    async fn leave_others(
        app: &App,
        wanted: &BTreeSet<String>,
        members: &Members,
    ) -> anyhow::Result<()> {
        let prefix = format!("{}/", uid(app));
        let is_kept = |member: &String| !member.starts_with(&prefix) || wanted.contains(member);
        members
            .call("removes other members", |all| all.retain(is_kept))
            .await
    }
    async fn reconcile<const BUGGY: bool>(
        app: Arc<App>,
        cx: Context<App>,
        members: Members,
    ) -> Reconciled {
        let numbers = 0..app.spec.replicas.unwrap_or(1);
        let pods: Vec<Pod> = numbers
            .map(|number| pod(&app, number))
            .collect::<Result<_, _>>()?;
        let wanted: BTreeSet<_> = pods.iter().map(|pod| member(&app, pod)).collect();
        for pod in &pods {
            cx.apply(pod).await?;
            members
                .call("adds a member", |all| all.insert(member(&app, pod)))
                .await?;
        }
        if !BUGGY {
            leave_others(&app, &wanted, &members).await?;
            prune(&cx, &pods).await?;
            return done();
        }
        for pod in cx.children::<Pod>()? {
            let member = member(&app, &pod);
            if !wanted.contains(&member) {
                cx.delete(&*pod).await?;
                members
                    .call("removes a member", |all| all.remove(&member))
                    .await?;
            }
        }
        done()
    }
    async fn clean_up(app: Arc<App>, _cx: Context<App>, members: Members) -> CleanedUp {
        leave_others(&app, &BTreeSet::new(), &members).await?;
        gone()
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let members: Members = Arc::new(External::new("members"));
        trial(move |manager| {
            manager
                .controller::<App>("app")
                .owns(kind::<Pod>())
                .finalizer(FINALIZER, with(&members, clean_up))
                .reconcile(with(&members, reconcile::<BUGGY>));
        })
        .object(&app("web"))
        .kubelet()
        .user("scales down", |api: &FakeApi| {
            edit(api, |spec| spec.replicas = Some(1));
        })
    }
    Case {
        name: "member goes after its Pod",
        bug: "the Pod is deleted before its member leaves, and only the Pod tells which one that is",
        story: "member web-1 is left at the service after the Pod was deleted",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// A Job gets a generated name, which only the status knows: after a crash or a lost answer, there is a second Job.
/// The story has to name the second Job.
fn generated_name_is_lost() -> Case {
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let mut wanted = job(&format!("{}-import", cx.name()), "import:1")?;
        let known = match status(&app).id {
            Some(id) if BUGGY => cx.get::<Job>(&*id)?,
            _ => None,
        };
        let import = match known {
            Some(import) => import,
            None if BUGGY => {
                wanted.metadata.name = None;
                wanted.metadata.generate_name = Some(format!("{}-import-", cx.name()));
                cx.create(&wanted).await?
            }
            None => cx.apply(&wanted).await?,
        };
        let phase = if has_ended(&import) {
            "Imported"
        } else {
            "Importing"
        };
        cx.status(|status| {
            status.phase = Some(phase.to_owned());
            status.id.clone_from(&import.metadata.name);
        });
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<Job>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>).object(&app("web")).kubelet()
    }
    Case {
        name: "generated name is lost",
        bug: "a crash before the status has the generated name starts a second Job",
        story: "Job web-import-… is created 2 times",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// When the last backup was, only the memory of the process knows: each restart makes another one.
/// The story has to name the Job that a restart creates between two times of the schedule.
fn schedule_is_in_memory() -> Case {
    type Runs = Arc<Mutex<BTreeMap<String, Timestamp>>>;
    const PERIOD: i64 = 300;

    /// The time of the backup that is due, if one is.
    fn due(app: &App, now: Timestamp, runs: &Runs) -> Option<Timestamp> {
        let mut runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
        let last = runs.get(&uid(app));
        if last.is_some_and(|last| now.as_second() < last.as_second() + PERIOD) {
            return None;
        }
        runs.insert(uid(app), now);
        Some(now)
    }
    async fn reconcile<const BUGGY: bool>(
        app: Arc<App>,
        cx: Context<App>,
        runs: Runs,
    ) -> Reconciled {
        let now = cx.now();
        let slot = now.as_second().div_euclid(PERIOD) * PERIOD;
        let next = Timestamp::from_second(slot + PERIOD)?;
        let time = if BUGGY {
            let Some(time) = due(&app, now, &runs) else {
                return Ok(Action::requeue_at(next));
            };
            time.as_second()
        } else {
            slot
        };
        let backup = job(&format!("{}-{time}", cx.name()), "backup:1")?;
        cx.apply(&backup).await?;
        prune(&cx, &[backup]).await?;
        Ok(Action::requeue_at(next))
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        let runs = Runs::default();
        manager
            .controller::<App>("app")
            .owns(kind::<Job>())
            .reconcile(with(&runs, reconcile::<BUGGY>));
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .object(&app("web"))
            .kubelet()
            .every(Duration::from_secs(300))
    }
    Case {
        name: "schedule is in memory",
        bug: "the time of the last backup is lost with the process, so a restart makes another one",
        story: "a Job web-… is created by a restart, between two times of the schedule",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// Each app writes its route into one map: it reads the map, changes it, and replaces it whatever happened meanwhile.
/// The story has to name the map `routes`, with a route that was lost or has come back.
fn routes_are_overwritten() -> Case {
    const ROUTES: &str = "routes";

    async fn change<const BUGGY: bool>(
        cx: &Context<App>,
        routes: &ConfigMap,
        change: impl Fn(&mut BTreeMap<String, String>) + Send + Sync,
    ) -> anyhow::Result<()> {
        if !BUGGY {
            cx.update(routes, |map| change(map.data.get_or_insert_default()))
                .await?;
            return Ok(());
        }
        let mut changed = routes.clone();
        change(changed.data.get_or_insert_default());
        if changed != *routes {
            changed.metadata.resource_version = None;
            let params = PostParams::default();
            raw::<ConfigMap, _>(cx)
                .replace(ROUTES, &params, &changed)
                .await?;
        }
        Ok(())
    }
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        let Some(routes) = cx.get_live::<ConfigMap>(ROUTES).await? else {
            return Err(waiting(
                "NoRoutes",
                format!("there is no ConfigMap `{ROUTES}`"),
            ));
        };
        let port = app.spec.port.unwrap_or(80).to_string();
        change::<BUGGY>(&cx, &routes, |all| {
            all.insert(cx.name().to_owned(), port.clone());
        })
        .await?;
        cx.ready("Routed", "the app has a route");
        done()
    }
    async fn clean_up<const BUGGY: bool>(_app: Arc<App>, cx: Context<App>) -> CleanedUp {
        if let Some(routes) = cx.get_live::<ConfigMap>(ROUTES).await? {
            change::<BUGGY>(&cx, &routes, |all| {
                all.remove(cx.name());
            })
            .await?;
        }
        gone()
    }
    fn apps_beside(map: &ConfigMap, cached: &Reader) -> anyhow::Result<Vec<Key>> {
        if map.name_any() != ROUTES {
            return Ok(Vec::new());
        }
        let namespace = map.namespace().unwrap_or_default();
        cached.list::<App>().in_namespace(&namespace).keys()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .conditions(|status| (&mut status.conditions, &mut status.observed_generation))
            .watches(kind::<ConfigMap>(), apps_beside)
            .finalizer(FINALIZER, clean_up::<BUGGY>)
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>)
            .world(&map(ROUTES, "home", "80"))
            .object(&app("api"))
            .object(&app("web"))
            .user("changes a port", |api: &FakeApi| {
                edit(api, |spec| spec.port = Some(9090));
            })
    }
    Case {
        name: "routes are overwritten",
        bug: "a shared ConfigMap is read, changed and replaced without its version",
        story: "ConfigMap routes lacks the route of an app, or has that of an app that is gone",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// A locked app must not be changed, says a webhook, which also stops the removal of its finalizer.
/// The story has to name the app that stays, or the write of its finalizer that was rejected.
fn locked_app_cannot_go() -> Case {
    type Accounts = Arc<External<BTreeSet<String>>>;

    struct Lock<const BUGGY: bool>;

    impl<const BUGGY: bool> Validator<App> for Lock<BUGGY> {
        async fn validate_update(
            &self,
            old: &App,
            new: &App,
            _cx: &Request<App>,
        ) -> Result<Warnings, Rejection> {
            let is_allowed = if BUGGY {
                !new.spec.locked
            } else {
                let locked = new.spec.locked;
                let kept = AppSpec {
                    locked,
                    ..old.spec.clone()
                };
                kept == new.spec
            };
            if old.spec.locked && !is_allowed {
                return Err(Rejection::forbidden("the app is locked"));
            }
            Ok(Warnings::new())
        }
    }
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
            manager
                .controller::<App>("app")
                .finalizer(FINALIZER, with(&accounts, clean_up))
                .reconcile(with(&accounts, reconcile));
            manager.validator::<App>(Lock::<BUGGY>);
        })
        .object(&app("web"))
        .user("locks the app", |api: &FakeApi| {
            edit(api, |spec| spec.locked = true);
        })
    }
    Case {
        name: "locked app cannot go",
        bug: "the validating webhook rejects the write of finalizers of a locked app",
        story: "App web stays after its deletion, or the write of its finalizer is rejected",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// The clean-up closes the account with a token from a Secret, and takes a missing Secret for a missing account.
/// The story has to name the account that is left at the service, after the Secret has gone.
fn credentials_go_first() -> Case {
    type Accounts = Arc<External<BTreeMap<String, String>>>;

    fn credentials(cx: &Context<App>) -> String {
        format!("{}-credentials", cx.name())
    }
    async fn reconcile(app: Arc<App>, cx: Context<App>, accounts: Accounts) -> Reconciled {
        let open = |all: &mut BTreeMap<String, String>| {
            let token = || format!("token of {}", cx.name());
            all.entry(uid(&app)).or_insert_with(token).clone()
        };
        let token = accounts.call("opens an account", open).await?;
        cx.apply(&secret(&credentials(&cx), "token", &token))
            .await?;
        done()
    }
    async fn clean_up<const BUGGY: bool>(
        app: Arc<App>,
        cx: Context<App>,
        accounts: Accounts,
    ) -> CleanedUp {
        if !BUGGY {
            accounts
                .call("closes an account", |all| all.remove(&uid(&app)))
                .await?;
            return gone();
        }
        let Some(secret) = cx.get::<Secret>(&credentials(&cx))? else {
            return gone();
        };
        let token = value_of(&secret, "token")?;
        accounts
            .call("closes an account", |all| {
                all.retain(|_, other| *other != token);
            })
            .await?;
        gone()
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let accounts: Accounts = Arc::new(External::new("accounts"));
        trial(move |manager| {
            manager
                .controller::<App>("app")
                .owns(kind::<Secret>())
                .finalizer(FINALIZER, with(&accounts, clean_up::<BUGGY>))
                .reconcile(with(&accounts, reconcile));
        })
        .object(&app("web"))
    }
    Case {
        name: "credentials go first",
        bug: "without the Secret with the token, the clean-up believes that there is no account",
        story: "an account is left after Secret web-credentials has gone, or before it was there",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// A controller of kube's own runtime opens the account before it adds its finalizer.
/// The story has to name the account that is left, of an app that was deleted in between.
fn finalizer_comes_too_late() -> Case {
    type Accounts = Arc<External<BTreeSet<String>>>;

    struct Outside {
        client: Client,
        accounts: Accounts,
    }

    async fn set_finalizers(
        app: &App,
        outside: &Outside,
        change: impl FnOnce(&mut Vec<String>),
    ) -> anyhow::Result<()> {
        let namespace = app.namespace().unwrap_or_default();
        let apps: Api<App> = Api::namespaced(outside.client.clone(), &namespace);
        // It has the version that was read, so a newer app is not overwritten.
        let mut changed = app.clone();
        change(changed.finalizers_mut());
        apps.replace(&app.name_any(), &PostParams::default(), &changed)
            .await?;
        Ok(())
    }
    async fn open(app: &App, outside: &Outside) -> anyhow::Result<()> {
        let accounts = &outside.accounts;
        accounts
            .call("opens an account", |all| all.insert(uid(app)))
            .await?;
        Ok(())
    }
    async fn bring_about<const BUGGY: bool>(app: &App, outside: &Outside) -> anyhow::Result<()> {
        let is_own = |finalizer: &String| finalizer == FINALIZER;
        let has_finalizer = app.finalizers().iter().any(is_own);
        if app.metadata.deletion_timestamp.is_some() {
            if has_finalizer {
                let accounts = &outside.accounts;
                accounts
                    .call("closes an account", |all| all.remove(&uid(app)))
                    .await?;
                set_finalizers(app, outside, |all| all.retain(|other| !is_own(other))).await?;
            }
            return Ok(());
        }
        if BUGGY {
            open(app, outside).await?;
        }
        if !has_finalizer {
            set_finalizers(app, outside, |all| all.push(FINALIZER.to_owned())).await?;
        }
        if !BUGGY {
            open(app, outside).await?;
        }
        Ok(())
    }
    async fn reconcile<const BUGGY: bool>(
        app: Arc<App>,
        outside: Arc<Outside>,
    ) -> Result<controller::Action, Failure> {
        bring_about::<BUGGY>(&app, &outside)
            .await
            .map_err(Failure)?;
        Ok(controller::Action::await_change())
    }
    async fn run<const BUGGY: bool>(client: Client, accounts: Accounts) {
        let apps = Api::<App>::all(client.clone());
        Controller::new(apps, watcher::Config::default())
            .run(
                reconcile::<BUGGY>,
                |_, _, _| controller::Action::requeue(Duration::from_secs(5)),
                Arc::new(Outside { client, accounts }),
            )
            .for_each(async |_| {})
            .await;
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        let accounts: Accounts = Arc::new(External::new("accounts"));
        simulate_client(move |client| run::<BUGGY>(client, Arc::clone(&accounts)))
            .define(&App::crd())
            .object(&app("web"))
    }
    Case {
        name: "finalizer comes too late",
        bug: "the account is opened before the finalizer is added",
        story: "an account is left of an app that was deleted before it had the finalizer",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}

/// A migration runs before each new image; if the image changes meanwhile, the migration of the former one counts for it.
/// The story has to name the Job web-migrate, which has the former image.
fn migration_is_that_of_another_image() -> Case {
    async fn deploy(app: &App, cx: &Context<App>) -> anyhow::Result<()> {
        cx.apply::<Deployment>(&deployment(app)?).await?;
        cx.status(|status| {
            status.phase = Some("Running".to_owned());
            status.image = Some(app.spec.image.clone());
        });
        Ok(())
    }
    fn migrating(cx: &Context<App>) {
        cx.status(|status| status.phase = Some("Migrating".to_owned()));
    }
    async fn by_phase(app: &App, cx: &Context<App>) -> anyhow::Result<()> {
        let name = format!("{}-migrate", cx.name());
        let Some(migration) = cx.children::<Job>()?.into_iter().next() else {
            cx.apply(&job(&name, &app.spec.image)?).await?;
            migrating(cx);
            return Ok(());
        };
        let is_new = status(app)
            .image
            .is_some_and(|image| image != app.spec.image);
        if !has_ended(&migration) {
            migrating(cx);
        } else if is_new && phase(app) == Some("Running") {
            cx.delete(&*migration).await?;
            migrating(cx);
        } else {
            deploy(app, cx).await?;
        }
        Ok(())
    }
    async fn by_image(app: &App, cx: &Context<App>) -> anyhow::Result<()> {
        let version = checksum([app.spec.image.as_bytes()]);
        let name = format!("{}-migrate-{version}", cx.name());
        let wanted = job(&name, &app.spec.image)?;
        let migration = cx.apply(&wanted).await?;
        prune(cx, &[wanted]).await?;
        if has_ended(&migration) {
            deploy(app, cx).await?;
        } else {
            migrating(cx);
        }
        Ok(())
    }
    async fn reconcile<const BUGGY: bool>(app: Arc<App>, cx: Context<App>) -> Reconciled {
        if BUGGY {
            by_phase(&app, &cx).await?;
        } else {
            by_image(&app, &cx).await?;
        }
        done()
    }
    fn register<const BUGGY: bool>(manager: &mut Manager) {
        manager
            .controller::<App>("app")
            .owns(kind::<Job>())
            .owns(kind::<Deployment>())
            .reconcile(reconcile::<BUGGY>);
    }
    fn scenario<const BUGGY: bool>() -> Simulation {
        trial(register::<BUGGY>).object(&app("web")).kubelet().user(
            "changes the image",
            |api: &FakeApi| {
                edit(api, |spec| spec.image = "web:2".into());
            },
        )
    }
    Case {
        name: "migration is that of another image",
        bug: "an image that changes during a migration is deployed without one of its own",
        story: "Job web-migrate has another image than the spec",
        buggy: scenario::<true>,
        twin: scenario::<false>,
    }
}
