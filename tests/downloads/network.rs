//! Proxies, no network, and several commands at once.

use std::fs;
use std::process::Stdio;

use crate::archives::{file_name, serve};
use crate::place::{OFFLINE, Place, check};
use crate::server::Server;

const NAME: &str = "1.36.4-linux-amd64";
const USE: &str = "use -p path --os linux --arch amd64 1.36.4 --index";

fn path_of(place: &Place) -> String {
    let folder = place.path("store/k8s").join(NAME);
    folder.display().to_string()
}

#[test]
fn two_concurrent_commands_download_once() {
    let (server, place) = (Server::new(), Place::new());
    serve(&server, &[NAME]);
    let index = server.url("/index.yaml");
    let children: Vec<_> = (0..3)
        .map(|_| {
            let mut kbr = place.kbr(&format!("{USE} {index}"));
            kbr.stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        check(&child.wait_with_output().unwrap(), 0, &path_of(&place));
    }
    place.assert_complete(NAME);
    let archive = format!("/{}", file_name(NAME));
    assert_eq!(server.requests_of(&archive), ["all"]);
}

#[test]
fn cleanup_removes_partial_downloads() {
    let place = Place::with(&[NAME]);
    fs::create_dir_all(place.path("store/.kbr-work")).unwrap();
    fs::write(place.path("store/.kbr-work/a.partial"), "a").unwrap();
    let output = place
        .kbr("cleanup --os linux --arch amd64 1.20")
        .output()
        .unwrap();
    check(&output, 0, "");
    assert!(!place.path("store/.kbr-work").exists());
    assert_eq!(place.versions(), [NAME]);
}

#[test]
fn cleanup_and_list_do_not_create_a_store() {
    let place = Place::new();
    for words in ["cleanup", "list -i", "use -i"] {
        place.kbr(words).output().unwrap();
        assert!(!place.path("store").exists(), "{words}");
    }
}

#[test]
fn a_proxy_is_used_for_https_and_not_for_this_machine() {
    let server = Server::new();
    serve(&server, &[NAME]);
    let place = Place::new();
    let index = server.url("/index.yaml");
    let mut kbr = place.kbr(&format!("{USE} {index}"));
    let dead = "http://127.0.0.1:1";
    kbr.envs([
        ("HTTP_PROXY", dead),
        ("HTTPS_PROXY", dead),
        ("ALL_PROXY", dead),
    ]);
    check(&kbr.output().unwrap(), 0, &path_of(&place));

    let (proxy, place) = (Server::new(), Place::new());
    let mut kbr = place.kbr("list --index https://index.example/index.yaml");
    kbr.env("HTTPS_PROXY", proxy.url(""));
    let stderr = check(&kbr.output().unwrap(), 2, "");
    assert!(
        stderr.contains("cannot get `https://index.example/index.yaml`"),
        "{stderr}"
    );
    assert_eq!(proxy.requests(), ["CONNECT index.example:443 all"]);
}

#[test]
fn the_error_without_a_network_tells_what_to_check() {
    let place = Place::new();
    let output = place
        .kbr(&format!("use --index {OFFLINE}"))
        .output()
        .unwrap();
    let stderr = check(&output, 2, "");
    let expected =
        format!("error: the store is unchanged: nothing was downloaded: cannot get `{OFFLINE}`: ");
    assert!(stderr.starts_with(&expected), "{stderr}");
    assert!(
        stderr.contains("\nhelp: check the network and HTTPS_PROXY"),
        "{stderr}"
    );
    assert!(!place.path("store").exists());
}
