//! The book as a site, in a browser: its links lead somewhere, its diagrams are drawn, its search finds, and it fits a phone.
//! `make book-check` builds the site, installs Chromium, and runs this.

mod support;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use support::repository;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);

fn site() -> PathBuf {
    repository().join("target/book")
}

/// These repeat the other pages, or are none.
const OTHERS: [&str; 3] = ["toc.html", "print.html", "404.html"];

/// The pages, by their paths on the server.
fn pages(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("`make book` has built the site") {
        let path = entry.expect("readable").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("UTF-8");
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|end| end == "html") && !OTHERS.contains(&name) {
            let path = path.strip_prefix(site()).expect("a file of the site");
            found.push(format!("/{}", path.display()));
        }
    }
}

/// A browser, which ends with the test.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
#[ignore = "needs mdbook and Chromium: `make book-check`"]
fn each_page_opens_in_a_browser_and_its_links_lead_somewhere() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (sender, result) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || serve(stream, &sender));
        }
    });
    let profile = tempfile::tempdir().expect("a folder");
    let browser = Command::new("chromium")
        // As root, as in CI, Chromium has no sandbox.
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args([
            "--remote-debugging-port=0",
            &format!("http://{address}/check"),
        ])
        .stderr(Stdio::null())
        .spawn();
    let _browser = Browser(browser.expect("`make chromium` installs it"));
    let result: String = result.recv_timeout(PATIENCE).expect("a result");
    let problems: Vec<String> = serde_json::from_str(&result).expect("JSON");
    assert!(problems.is_empty(), "{problems:#?}");
}

/// Answers one request; sends the result of the browser on.
fn serve(mut stream: TcpStream, result: &mpsc::Sender<String>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut lines = Vec::new();
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        lines.push(std::mem::take(&mut line));
    }
    let Some(path) = lines.first().and_then(|line| line.split(' ').nth(1)) else {
        return;
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let (status, media, body) = match path {
        "/result" => {
            let length = lines.iter().find_map(|line| {
                let lower = line.to_ascii_lowercase();
                lower.strip_prefix("content-length:")?.trim().parse().ok()
            });
            let mut body = vec![0; length.unwrap_or_default()];
            reader.read_exact(&mut body).expect("a body");
            drop(result.send(String::from_utf8_lossy(&body).into_owned()));
            ("200 OK", "text/plain", Vec::new())
        }
        "/check" => (
            "200 OK",
            "text/html",
            include_bytes!("site/check.html").to_vec(),
        ),
        "/pages" => {
            let mut found = Vec::new();
            pages(&site().join("docs"), &mut found);
            assert!(found.len() > 40, "{found:?}");
            found.sort();
            (
                "200 OK",
                "application/json",
                serde_json::to_vec(&found).expect("JSON"),
            )
        }
        _ => match file(path) {
            Some(body) => ("200 OK", media(path), body),
            None => ("404 Not Found", "text/plain", Vec::new()),
        },
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    // The browser may have turned to another page.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&body));
}

/// A file of the site; of a folder, its page.
fn file(path: &str) -> Option<Vec<u8>> {
    let path = path.replace("%20", " ");
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    let file = site().join(path.trim_start_matches('/'));
    let file = if file.is_dir() {
        file.join("index.html")
    } else {
        file
    };
    fs::read(file).ok()
}

fn media(path: &str) -> &'static str {
    match Path::new(path).extension().and_then(|end| end.to_str()) {
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        Some("html") | None => "text/html",
        _ => "text/plain",
    }
}
