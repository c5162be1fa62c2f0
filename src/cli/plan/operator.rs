//! The two releases that are compared: of the project that the current folder belongs to, or any commands.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use apiserver_rules::Operator;
use kbr_envtest::crds;
use kbr_host::diagnostic::Diagnostic;
use kbr_host::lines;
use kbr_manifests::audit::permissions;
use kbr_manifests::overlay::{self, Identity};
use kbr_plan::read;
use kbr_plan::release::Release;
use kbr_plan::rollouts::READ;
use kbr_plan::wanted::{Wanted, named, wanted};
use kbr_programs::cargo;
use kbr_scaffold::workdir;
use serde_json::{Value, json};

use super::super::dist;
use super::Args;
use super::baseline::{self, Today};
use super::reading::{self, Reading};

/// What a plan needs to know of an operator.
pub struct Prepared {
    /// The project, or the Deployment.
    pub name: String,
    pub operator: Identity,
    /// What is read of the cluster.
    pub wanted: BTreeSet<Wanted>,
    pub next: Release,
    pub baseline: Option<Release>,
    /// What the report calls today's release.
    pub baseline_name: Option<String>,
    /// The programs.
    pub visible: Vec<PathBuf>,
    /// The current folder of the operator.
    pub folder: PathBuf,
}

/// Builds the releases of a project, or finds those of the arguments.
///
/// # Errors
/// There is neither a project nor a command; the project does not build; nothing says which `ServiceAccount` the operator has.
pub fn prepare(args: &Args) -> anyhow::Result<Prepared> {
    let folder = std::env::current_dir().context("cannot find the current folder")?;
    let root = if args.command.is_empty() {
        let root = workdir::find_root(&folder).ok();
        let root = root.filter(|it| !workdir::is_kubebuilders(it));
        Some(root.ok_or_else(no_operator)?)
    } else {
        None
    };
    let install = installed_by(args.install.as_deref(), root.as_deref(), &args.overlay)?;
    let deployed = deployed(args)?;
    let mut reading = args.reading.clone();
    if reading.service_account.is_none() && Identity::of(&install).is_err() {
        reading.service_account = deployed.as_ref().map(account_of);
    }
    let operator = identity(&reading, &install)?;
    let wanted = match args.clone {
        Some(_) => BTreeSet::new(),
        None => wanted_of(&reading, &install, &operator)?,
    };
    let deployment = Operator::find(&install).map(|it| it.deployment.clone());
    let deployment = deployment.or(deployed);
    let mut visible = Vec::new();
    let today = match &root {
        Some(root) if args.baseline.is_none() => {
            baseline::build(root, args.against.as_deref(), &args.overlay)?
        }
        _ => of_command(args, &folder, &mut visible)?,
    };
    let (baseline_name, baseline) = today
        .map(|it| {
            let its = Operator::find(&it.install).map(|it| it.deployment.clone());
            let command = resolved(it.command, &mut visible)?;
            let release = Release::new(it.install, its.as_ref().or(deployment.as_ref()), command);
            anyhow::Ok((it.name, release))
        })
        .transpose()?
        .unzip();
    // After today's release, which is built in the same folder.
    let command = match &root {
        Some(root) => vec![build(root)?],
        None => args.command.clone(),
    };
    let command = resolved(command, &mut visible)?;
    let project = root.as_deref().and_then(|it| workdir::load(it).ok());
    let deployed = deployment
        .as_ref()
        .and_then(|it| it["metadata"]["name"].as_str());
    let name = match project {
        Some(project) => project.head.name,
        None => deployed.unwrap_or(&operator.account).to_owned(),
    };
    Ok(Prepared {
        name,
        next: Release::new(install, deployment.as_ref(), command),
        operator,
        wanted,
        baseline,
        baseline_name,
        visible,
        folder,
    })
}

/// The operator's Deployment in the cluster, if the arguments name it.
fn deployed(args: &Args) -> anyhow::Result<Option<Value>> {
    let Some(name) = &args.deployment else {
        return Ok(None);
    };
    let (namespace, name) = name
        .split_once('/')
        .with_context(|| format!("--deployment `{name}` is not NAMESPACE/NAME"))?;
    let get = reading::get(args.reading.context.as_deref())?;
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
    let found = get(&path).map_err(|error| {
        Diagnostic::new(format_args!(
            "cannot read the Deployment `{namespace}/{name}`: {error:#}"
        ))
        .help("check --deployment and --context; `kubectl get deployments --all-namespaces` lists them")
    })?;
    Ok(Some(found))
}

/// `navy-system/navy`
fn account_of(deployment: &Value) -> String {
    let namespace = deployment["metadata"]["namespace"].as_str();
    let account = deployment["spec"]["template"]["spec"]["serviceAccountName"].as_str();
    let (namespace, account) = (namespace.unwrap_or_default(), account.unwrap_or("default"));
    format!("{namespace}/{account}")
}

fn no_operator() -> anyhow::Error {
    Diagnostic::new("no operator to run: the command line has no command, and the current folder is not in a project of kbr")
        .help("give its command after two dashes: `kbr plan --install release.yaml -- ./manager --leader-elect=false`")
        .into()
}

/// What the installer applies: the objects in a file, or those of a project.
///
/// # Errors
/// The file is no YAML, or the project does not render.
pub fn installed_by(
    file: Option<&Path>,
    root: Option<&Path>,
    overlay: &str,
) -> anyhow::Result<Vec<Value>> {
    match (file, root) {
        (Some(file), _) => objects(file),
        (None, Some(root)) => overlay::render(dist::kubectl()?(), root, overlay),
        (None, None) => Ok(Vec::new()),
    }
}

/// Who the operator is.
///
/// # Errors
/// Neither the arguments nor what is installed say it.
pub fn identity(reading: &Reading, install: &[Value]) -> anyhow::Result<Identity> {
    let Some(account) = &reading.service_account else {
        return Identity::of(install).map_err(|_| {
            Diagnostic::new("nothing says which ServiceAccount the operator runs as")
                .help("pass --service-account NAMESPACE/NAME, or --install with the YAML that installs its new release")
                .into()
        });
    };
    let (namespace, account) = account
        .split_once('/')
        .with_context(|| format!("--service-account `{account}` is not NAMESPACE/NAME"))?;
    Ok(Identity {
        namespace: namespace.to_owned(),
        account: account.to_owned(),
        watched: None,
    })
}

/// What the operator may read.
///
/// # Errors
/// The cluster does not answer, or no role allows anything.
pub fn wanted_of(
    reading: &Reading,
    install: &[Value],
    operator: &Identity,
) -> anyhow::Result<BTreeSet<Wanted>> {
    let kinds = reading.kinds.iter().map(String::as_str);
    let of_rollouts = READ.into_iter().filter(|_| reading.rollouts);
    let also: BTreeSet<Wanted> = kinds.chain(of_rollouts).map(named).collect();
    if !reading.kinds.is_empty() {
        return Ok(also);
    }
    let mut roles = match &reading.role {
        Some(file) => bound(objects(file)?, operator),
        None => install.to_vec(),
    };
    if reading.service_account.is_some() {
        let get = reading::get(reading.context.as_deref())?;
        roles.extend(read::roles(&get, operator).map_err(reading::unreadable)?);
    }
    let mut wanted = wanted(&permissions(&roles, operator, &[]));
    if wanted.is_empty() {
        let user = operator.user();
        return Err(
            Diagnostic::new(format_args!("no role allows {user} to read anything"))
                .help("check --service-account, or name what it reads with --kinds")
                .into(),
        );
    }
    wanted.extend(also);
    Ok(wanted)
}

/// The roles, with a binding of each to the operator.
fn bound(mut roles: Vec<Value>, operator: &Identity) -> Vec<Value> {
    let bindings: Vec<Value> = roles
        .iter()
        .map(|role| {
            json!({
                "kind": format!("{}Binding", role["kind"].as_str().unwrap_or_default()),
                "metadata": { "namespace": role["metadata"]["namespace"] },
                "roleRef": { "kind": role["kind"], "name": role["metadata"]["name"] },
                "subjects": [{ "kind": "User", "name": operator.user() }],
            })
        })
        .collect();
    roles.extend(bindings);
    roles
}

/// Today's release, if the arguments say its command.
fn of_command(
    args: &Args,
    folder: &Path,
    visible: &mut Vec<PathBuf>,
) -> anyhow::Result<Option<Today>> {
    let Some(command) = &args.baseline else {
        return Ok(None);
    };
    let install = args.baseline_install.as_deref().map(objects).transpose()?;
    Ok(Some(Today {
        name: command.clone(),
        install: install.unwrap_or_default(),
        command: words(command, folder, visible),
    }))
}

/// Builds the operator of a project; returns its path.
fn build(root: &Path) -> anyhow::Result<String> {
    let name = workdir::load(root)?.head.name;
    let built = cargo::build(root, &[&name], false)?;
    let built = built.first().context("cargo built no operator")?;
    Ok(built.display().to_string())
}

/// With the whole path of the program, which the sandbox then shows.
fn resolved(mut command: Vec<String>, visible: &mut Vec<PathBuf>) -> anyhow::Result<Vec<String>> {
    let program = command.first().context("no command given")?;
    let found = if program.contains('/') {
        Some(std::path::absolute(program)?).filter(|it| it.is_file())
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|it| it.join(program))
            .find(|it| it.is_file())
    };
    let found = found.with_context(|| format!("no program `{program}` found"))?;
    let mode = std::fs::metadata(&found)?.permissions().mode();
    if mode & 0o111 == 0 {
        let file = lines::shell(program);
        return Err(
            Diagnostic::new(format_args!("`{program}` is not executable"))
                .help(format_args!("`chmod +x {file}`"))
                .into(),
        );
    }
    command[0] = found.display().to_string();
    visible.push(found);
    Ok(command)
}

/// The words of a command; what only a shell understands is left to one, which finds the files that it names.
fn words(command: &str, folder: &Path, visible: &mut Vec<PathBuf>) -> Vec<String> {
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    if !command.contains([
        '"', '\'', '\\', '$', '`', ';', '&', '|', '<', '>', '(', '*', '?', '~', '#',
    ]) {
        return words;
    }
    visible.extend(
        words
            .iter()
            .map(|it| folder.join(it))
            .filter(|it| it.is_file()),
    );
    vec![
        "/bin/sh".to_owned(),
        "-c".to_owned(),
        format!("exec {command}"),
    ]
}

/// The objects in a file of YAML or JSON.
fn objects(file: &Path) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    for mut object in crds::documents(file)? {
        let items = object.get_mut("items").map(Value::take);
        match items {
            Some(Value::Array(items)) if object["kind"] == "List" => all.extend(items),
            _ if object.is_object() => all.push(object),
            _ => {}
        }
    }
    Ok(all)
}
