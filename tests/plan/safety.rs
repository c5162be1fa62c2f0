//! What an operator in a plan can reach, what a cluster receives, and what is left.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::cluster::{Cluster, confinement};
use crate::release::{Release, captains};
use crate::support::{KBR, shell};

fn install() -> &'static Path {
    &Release::of_captains("1").install
}

/// The value of a Secret.
const PLANTED: &str = "planted-secret-value";

/// What the operator has reached: lines of its log.
fn reached(flags: &[&str]) -> Vec<String> {
    let cluster = Cluster::shared();
    let folder = cluster.folder.path();
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = |name: &str| outside.path().join(name);
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let unix = UnixListener::bind(path("socket")).unwrap();
    unix.set_nonblocking(true).unwrap();
    fs::create_dir_all(folder.join(".kube")).unwrap();
    fs::write(folder.join(".kube/config"), "").unwrap();
    let mut kbr = Command::new(KBR);
    kbr.args(["plan", "--output=json", "--idle=2"]).args(flags);
    kbr.arg("--install")
        .arg(install())
        .arg("--")
        .arg(captains());
    kbr.arg("spies")
        .arg("--metrics-bind-address=0")
        .arg("--health-probe-bind-address=127.0.0.1:0");
    kbr.arg(format!("tcp={}", tcp.local_addr().unwrap()));
    kbr.arg(format!("udp={}", udp.local_addr().unwrap()));
    kbr.arg(format!("unix={}", path("socket").display()));
    kbr.arg(format!("file={}", folder.join(".kube/config").display()));
    kbr.arg(format!("write={}", path("written").display()));
    kbr.arg("variable=PLANTED");
    // Outside of a sandbox, the question would leave this machine.
    let name = "planted.example.com";
    kbr.args(flags.is_empty().then(|| format!("name={name}")));
    kbr.env("PLANTED", "1")
        .env("KUBECONFIG", folder.join("kubeconfig"))
        .env("HOME", folder);
    // The store of the programs may be in the home folder.
    let assets = Command::new(KBR)
        .args(["envtest", "path"])
        .output()
        .unwrap()
        .stdout;
    kbr.env(
        "KUBEBUILDER_ASSETS",
        String::from_utf8(assets).unwrap().trim(),
    );
    let output = kbr.current_dir("/").stdin(Stdio::null()).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(report["next"]["failed"], Value::Null, "{report:#}");
    let looked_up = &report["next"]["lookedUp"];
    assert_eq!(looked_up[name].is_u64(), flags.is_empty(), "{looked_up}");
    let log = report["next"]["log"].as_str().unwrap();
    let mut all: Vec<String> = log
        .lines()
        .filter(|it| it.starts_with("reached"))
        .map(str::to_owned)
        .collect();
    if udp.recv(&mut [0; 16]).is_ok() {
        all.push("reached udp".to_owned());
    }
    let would_block = unix
        .accept()
        .is_err_and(|it| it.kind() == io::ErrorKind::WouldBlock);
    assert_eq!(would_block, !all.contains(&"reached unix".to_owned()));
    assert_eq!(
        path("written").exists(),
        all.contains(&"reached write".to_owned())
    );
    all.sort();
    all
}

#[test]
fn an_operator_in_a_plan_reaches_no_network_no_socket_and_nothing_of_the_user() {
    let without = [
        "reached file",
        "reached tcp",
        "reached udp",
        "reached unix",
        "reached write",
    ];
    assert_eq!(reached(&["--unconfined"]), without);
    if confinement().is_empty() {
        return assert_eq!(reached(&[]), Vec::<String>::new());
    }
    // Where there can be no sandbox, nothing runs without the flag.
    let cluster = Cluster::shared();
    let mut kbr = Command::new(KBR);
    kbr.args(["plan", "--install"])
        .arg(install())
        .arg("--")
        .arg(captains());
    kbr.env("KUBECONFIG", cluster.folder.path().join("kubeconfig"));
    let output = kbr.stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("cannot confine the operator"), "{errors}");
}

#[test]
fn without_a_sandbox_a_plan_refuses_and_says_what_to_install() {
    let cluster = Cluster::shared();
    let mut kbr = Command::new(KBR);
    kbr.args(["plan", "--install"])
        .arg(install())
        .arg("--")
        .arg(captains());
    let assets = Command::new(KBR)
        .args(["envtest", "path"])
        .output()
        .unwrap()
        .stdout;
    kbr.env(
        "KUBEBUILDER_ASSETS",
        String::from_utf8(assets).unwrap().trim(),
    );
    kbr.env("KUBECONFIG", cluster.folder.path().join("kubeconfig"))
        .env("PATH", "/nowhere");
    let output = kbr.stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("install bubblewrap"), "{errors}");
    assert!(errors.contains("--unconfined"), "{errors}");
}

#[test]
fn everything_ends_when_kbr_is_killed() {
    let cluster = Cluster::shared();
    let mark = format!("mark={}", std::process::id());
    let mut kbr = Command::new(KBR);
    kbr.args(["plan", "--idle=600"]).args(confinement());
    kbr.arg("--install")
        .arg(install())
        .arg("--")
        .arg(captains());
    kbr.args(["spies", "--metrics-bind-address=0", &mark]);
    kbr.env("KUBECONFIG", cluster.folder.path().join("kubeconfig"));
    kbr.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut kbr = kbr.spawn().unwrap();
    let lines = BufReader::new(kbr.stderr.take().unwrap()).lines();
    let started = lines
        .map_while(Result::ok)
        .any(|it| it.contains("running the new release"));
    assert!(started);
    wait_for(|| running(&mark) > 1);
    kbr.kill().unwrap();
    kbr.wait().unwrap();
    wait_for(|| running(&mark) == 0);
}

/// The processes with an argument.
fn running(argument: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let arguments = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    arguments
        .filter(|it| it.split(|it| *it == 0).any(|it| it == argument.as_bytes()))
        .count()
}

fn wait_for(condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(120));
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_cluster_receives_only_reads_and_no_value_of_a_secret_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (install, operator) = (install(), captains());
    let assets = Command::new(KBR)
        .args(["envtest", "path"])
        .output()
        .unwrap()
        .stdout;
    let script = format!(
        "export KUBEBUILDER_ASSETS={assets}\n\
         kbr envtest run --audit log -- sh -ec '\n\
         kubectl apply --server-side -f {install} >/dev/null\n\
         kubectl create secret generic keys --from-literal=password={PLANTED} -n crew-system\n\
         kubectl create configmap copy --from-literal=password={PLANTED} -n crew-system\n\
         wc -l < log > before\n\
         kbr plan --idle=2 --output=json {flags} --install {install} -- {operator} > plan || [ $? = 2 ]\n\
         kbr clone --install {install} --output prod.clone\n\
         kbr plan --clone prod.clone --idle=2 --details {flags} --install {install} -- {operator} > report || [ $? = 2 ]\n\
         kbr plan --secrets --idle=2 --details {flags} --install {install} -- {operator} > kept || [ $? = 2 ]\n\
         wc -l < log > after'",
        assets = String::from_utf8(assets).unwrap().trim(),
        flags = confinement().join(" "),
        install = install.display(),
        operator = operator.display(),
    );
    let output = shell(folder.path(), &script);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let number = |name: &str| read(name).trim().parse::<usize>().unwrap();
    let log = read("log");
    let lines: Vec<Value> = log
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    let during = &lines[number("before")..number("after")];
    let requests: Vec<&Value> = during
        .iter()
        .filter(|it| it["user"]["username"] == "admin")
        .collect();
    assert!(requests.len() > 5);
    for request in requests {
        let verb = request["verb"].as_str().unwrap();
        // kbr envtest itself collects garbage, as the same user: by watches.
        assert!(["get", "list", "watch"].contains(&verb), "{request}");
    }

    let mode = fs::metadata(folder.path().join("prod.clone"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut clone = String::new();
    let file = fs::File::open(folder.path().join("prod.clone")).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut clone)
        .unwrap();
    assert!(clone.contains("\"copy\""));
    let shown = [
        clone,
        read("plan"),
        read("report"),
        read("kept"),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    ];
    for text in shown {
        assert!(!text.contains(PLANTED));
        assert!(!text.contains(&BASE64_STANDARD.encode(PLANTED)));
    }
}
