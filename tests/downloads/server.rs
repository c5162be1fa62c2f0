//! A server for files that can answer wrongly.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A connection, with or without TLS.
trait Connection: Read + Write + Send {}

impl<T: Read + Write + Send> Connection for T {}

/// An answer, which is sent as it is before the connection is closed.
pub struct Reply {
    pub head: String,
    pub body: Vec<u8>,
    /// Keeps the connection open, silently.
    pub hang: bool,
}

/// Answers the request of this number, from 0, for a file from this byte on.
type Handler = Arc<dyn Fn(usize, Option<usize>) -> Reply + Send + Sync>;

#[derive(Default)]
struct State {
    files: HashMap<String, Handler>,
    /// The first line of each request, and its range: `GET /a bytes=5-`.
    requests: Vec<String>,
    hanging: Vec<Box<dyn Connection>>,
}

pub struct Server {
    pub address: String,
    scheme: &'static str,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn new() -> Self {
        Server::start("http", |stream| {
            // What is not text may have no end of a line: TLS, for example.
            let mut first = [0];
            stream.peek(&mut first).ok()?;
            first[0]
                .is_ascii_alphabetic()
                .then(|| Box::new(stream) as _)
        })
    }

    pub fn with_tls(config: Arc<ServerConfig>) -> Self {
        Server::start("https", move |stream| {
            let tls = ServerConnection::new(config.clone()).ok()?;
            Some(Box::new(StreamOwned::new(tls, stream)))
        })
    }

    fn start(
        scheme: &'static str,
        accept: impl Fn(TcpStream) -> Option<Box<dyn Connection>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, accept) = (state.clone(), Arc::new(accept));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (shared, accept) = (shared.clone(), accept.clone());
                // A client may close the connection at any time.
                thread::spawn(move || accept(stream).map(|stream| answer(stream, &shared).ok()));
            }
        });
        Server {
            address,
            scheme,
            state,
        }
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// Serves `path` from now on.
    pub fn serve(
        &self,
        path: &str,
        handler: impl Fn(usize, Option<usize>) -> Reply + Send + Sync + 'static,
    ) {
        let mut state = self.state.lock().unwrap();
        state.files.insert(path.to_owned(), Arc::new(handler));
    }

    /// Serves `bytes`, and any end of them.
    pub fn serve_file(&self, path: &str, bytes: &[u8]) {
        let bytes = bytes.to_owned();
        self.serve(path, move |_, start| file(&bytes, start));
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    /// The requests for `path` so far, with their ranges.
    pub fn requests_of(&self, path: &str) -> Vec<String> {
        let requests = self.requests().into_iter();
        let prefix = format!("GET {path} ");
        requests
            .filter_map(|request| request.strip_prefix(&prefix).map(str::to_owned))
            .collect()
    }
}

/// The correct answer.
pub fn file(bytes: &[u8], start: Option<usize>) -> Reply {
    let all = bytes.len();
    match start {
        None => reply("200 OK", &format!("Content-Length: {all}\r\n"), bytes),
        Some(start) if start >= all => reply("416 Range Not Satisfiable", "", b""),
        Some(start) => {
            let headers = format!(
                "Content-Length: {}\r\nContent-Range: bytes {start}-{}/{all}\r\n",
                all - start,
                all - 1
            );
            reply("206 Partial Content", &headers, &bytes[start..])
        }
    }
}

pub fn reply(status: &str, headers: &str, body: &[u8]) -> Reply {
    Reply {
        head: format!("HTTP/1.1 {status}\r\nConnection: close\r\n{headers}\r\n"),
        body: body.to_owned(),
        hang: false,
    }
}

/// An answer of a status only.
pub fn status(status: &str) -> Reply {
    reply(status, "Content-Length: 0\r\n", b"")
}

impl Reply {
    /// Ends the body after `count` bytes; its length is announced as before.
    pub fn cut(mut self, count: usize) -> Self {
        self.body.truncate(count);
        self
    }

    /// Sends nothing more, but does not close the connection.
    pub fn hang(mut self) -> Self {
        self.hang = true;
        self
    }
}

fn answer(mut stream: Box<dyn Connection>, state: &Mutex<State>) -> std::io::Result<()> {
    // A request has no body, so nothing is lost with the buffer.
    let mut lines = BufReader::new(&mut stream).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut range = None;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("range")
        {
            range = Some(value.to_owned());
        }
    }
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let request = format!("{method} {path} {}", range.as_deref().unwrap_or("all"));
    let start = range.as_deref().and_then(|range| {
        let start = range.strip_prefix("bytes=")?.strip_suffix('-')?;
        start.parse().ok()
    });
    let (handler, number) = {
        let mut state = state.lock().unwrap();
        let prefix = format!("{method} {path} ");
        let before = state.requests.iter();
        let number = before
            .filter(|request| request.starts_with(&prefix))
            .count();
        state.requests.push(request);
        (state.files.get(path).cloned(), number)
    };
    let reply = handler.map_or_else(|| status("404 Not Found"), |handler| handler(number, start));
    stream.write_all(reply.head.as_bytes())?;
    stream.write_all(&reply.body)?;
    stream.flush()?;
    if reply.hang {
        state.lock().unwrap().hanging.push(stream);
    }
    Ok(())
}
