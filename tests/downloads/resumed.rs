//! Connections that end early, and downloads that are continued.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::archives::{archive, file_name, serve_index, sha512};
use crate::place::{Place, check};
use crate::server::{Server, file, reply, status};

const NAME: &str = "1.36.4-linux-amd64";
const USE: &str = "use -p path --os linux --arch amd64 1.36.4 --index";

/// A server whose index has one archive, and the archive.
fn server() -> (Server, Vec<u8>) {
    let (server, bytes) = (Server::new(), archive(NAME));
    serve_index(&server, &[(NAME, &bytes)]);
    (server, bytes)
}

fn archive_path() -> String {
    format!("/{}", file_name(NAME))
}

fn path_of(place: &Place) -> String {
    let folder = place.path("store/k8s").join(NAME);
    folder.display().to_string()
}

fn partial(place: &Place, bytes: &[u8]) -> std::path::PathBuf {
    let name = format!("{NAME}-{}.partial", &sha512(bytes)[..16]);
    place.path("store/.kbr-work").join(name)
}

/// Runs `use`, which must succeed and leave only the version in the store.
#[track_caller]
fn use_it(place: &Place, server: &Server) -> String {
    let index = server.url("/index.yaml");
    let output = place.kbr(&format!("{USE} {index}")).output().unwrap();
    let stderr = check(&output, 0, &path_of(place));
    place.assert_complete(NAME);
    assert_eq!(
        fs::read_dir(place.path("store")).unwrap().count(),
        1,
        "{stderr}"
    );
    stderr
}

/// Runs `use`, which must fail and add nothing to the store.
#[track_caller]
fn fail(place: &Place, server: &Server) -> String {
    let index = server.url("/index.yaml");
    let output = place.kbr(&format!("{USE} {index}")).output().unwrap();
    let stderr = check(&output, 2, "");
    assert!(place.versions().is_empty(), "{stderr}");
    stderr
}

#[test]
fn a_download_goes_on_where_the_connection_ended() {
    let (server, bytes) = server();
    let size = bytes.len();
    let sent = bytes.clone();
    server.serve(&archive_path(), move |number, start| match number {
        0 | 1 => file(&sent, start).cut(size / 3),
        _ => file(&sent, start),
    });
    let place = Place::new();
    let stderr = use_it(&place, &server);
    let third = size / 3;
    let expected = [
        "all".to_owned(),
        format!("bytes={third}-"),
        format!("bytes={}-", 2 * third),
    ];
    assert_eq!(server.requests_of(&archive_path()), expected);
    assert_eq!(stderr.matches("interrupted").count(), 2, "{stderr}");
    assert!(stderr.contains("downloaded 0.3 MB of 0.3 MB"), "{stderr}");
}

#[test]
fn the_next_command_goes_on_where_a_failed_one_ended() {
    let (server, bytes) = server();
    let half = bytes.len() / 2;
    let sent = bytes.clone();
    server.serve(&archive_path(), move |number, start| match number {
        0 => file(&sent, start).cut(half),
        _ => status("503 Service Unavailable"),
    });
    let place = Place::new();
    let stderr = fail(&place, &server);
    assert!(stderr.contains("HTTP status 503"), "{stderr}");
    assert_eq!(fs::read(partial(&place, &bytes)).unwrap(), bytes[..half]);
    let before = server.requests_of(&archive_path()).len();
    server.serve_file(&archive_path(), &bytes);
    use_it(&place, &server);
    let requests = server.requests_of(&archive_path());
    assert_eq!(requests[before..], [format!("bytes={half}-")]);
}

#[test]
fn the_next_command_goes_on_where_a_killed_one_was() {
    let (server, bytes) = server();
    let half = bytes.len() / 2;
    let sent = bytes.clone();
    server.serve(&archive_path(), move |_, start| {
        file(&sent, start).cut(half).hang()
    });
    let place = Place::new();
    let index = server.url("/index.yaml");
    let mut kbr = place.kbr(&format!("{USE} {index}"));
    let mut child = kbr
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let part = partial(&place, &bytes);
    let began = Instant::now();
    while part.metadata().map_or(0, |found| found.len()) < half as u64 {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "nothing is downloaded"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(place.versions().is_empty());
    server.serve_file(&archive_path(), &bytes);
    use_it(&place, &server);
    let requests = server.requests_of(&archive_path());
    assert_eq!(requests, ["all".to_owned(), format!("bytes={half}-")]);
}

#[test]
fn a_server_that_knows_no_ranges_sends_everything_again() {
    let (server, bytes) = server();
    let third = bytes.len() / 3;
    server.serve(&archive_path(), move |number, _| match number {
        0 => file(&bytes, None).cut(third),
        _ => file(&bytes, None),
    });
    use_it(&Place::new(), &server);
    assert_eq!(server.requests_of(&archive_path()).len(), 2);
}

#[test]
fn a_download_goes_on_through_redirects() {
    let (server, bytes) = server();
    let half = bytes.len() / 2;
    let target = format!(
        "Location: {}\r\nContent-Length: 0\r\n",
        server.url("/elsewhere")
    );
    server.serve(&archive_path(), move |_, _| {
        reply("302 Found", &target, b"")
    });
    server.serve("/elsewhere", move |number, start| match number {
        0 => file(&bytes, start).cut(half),
        _ => file(&bytes, start),
    });
    use_it(&Place::new(), &server);
    assert_eq!(
        server.requests_of("/elsewhere"),
        ["all".to_owned(), format!("bytes={half}-")]
    );
}

#[test]
fn a_complete_download_is_not_repeated() {
    let (server, bytes) = server();
    server.serve_file(&archive_path(), &bytes);
    let place = Place::new();
    fs::create_dir_all(place.path("store/.kbr-work")).unwrap();
    fs::write(partial(&place, &bytes), &bytes).unwrap();
    use_it(&place, &server);
    assert_eq!(
        server.requests_of(&archive_path()),
        [format!("bytes={}-", bytes.len())]
    );
}

#[test]
fn a_beginning_that_is_not_the_archives_is_downloaded_again() {
    for length in [1000, 1_000_000] {
        let (server, bytes) = server();
        server.serve_file(&archive_path(), &bytes);
        let place = Place::new();
        fs::create_dir_all(place.path("store/.kbr-work")).unwrap();
        fs::write(partial(&place, &bytes), vec![b'a'; length]).unwrap();
        use_it(&place, &server);
        let expected = [format!("bytes={length}-"), "all".to_owned()];
        assert_eq!(server.requests_of(&archive_path()), expected);
    }
}

#[test]
fn without_a_checksum_nothing_of_an_earlier_download_is_used() {
    let (server, bytes) = server();
    server.serve_file(&archive_path(), &bytes);
    let place = Place::new();
    fs::create_dir_all(place.path("store/.kbr-work")).unwrap();
    fs::write(partial(&place, &bytes), "other").unwrap();
    let index = server.url("/index.yaml");
    let output = place
        .kbr(&format!("{USE} {index} --verify=false"))
        .output()
        .unwrap();
    check(&output, 0, &path_of(&place));
    assert_eq!(server.requests_of(&archive_path()), ["all"]);
}

#[test]
fn a_connection_that_always_ends_early_is_given_up() {
    let (server, bytes) = server();
    server.serve(&archive_path(), move |_, start| {
        file(&bytes, start).cut(if start.is_none() { 100 } else { 0 })
    });
    let place = Place::new();
    let stderr = fail(&place, &server);
    assert!(stderr.contains("cannot download all of `"), "{stderr}");
    assert!(server.requests_of(&archive_path()).len() < 6);
}

#[test]
fn a_server_that_sends_nothing_leaves_nothing() {
    let (server, bytes) = server();
    server.serve(&archive_path(), move |_, start| file(&bytes, start).cut(0));
    let place = Place::new();
    fail(&place, &server);
    assert!(!place.path("store/.kbr-work").exists());
}
