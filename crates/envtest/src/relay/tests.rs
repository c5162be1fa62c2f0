use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

/// How long a test may wait on a machine whose cores are all busy.
const LONG: Duration = Duration::from_secs(120);

/// An operator that answers each call with its name, after a moment.
struct Operator {
    connection: UnixStream,
    ports: Vec<u16>,
    killed: Arc<AtomicBool>,
    server: Option<thread::JoinHandle<()>>,
}

impl Operator {
    fn start(control_plane: &Path, name: &'static str, endpoints: &[&str]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let killed = Arc::new(AtomicBool::new(false));
        let server = thread::spawn({
            let killed = killed.clone();
            move || serve(&listener, name, &killed)
        });
        let socket = folder_of(control_plane).join(SOCKET);
        let mut connection = UnixStream::connect(socket).unwrap();
        let line = serde_json::json!({ "port": port, "endpoints": endpoints });
        writeln!(connection, "{line}").unwrap();
        let mut answer = String::new();
        let mut reader = BufReader::new(connection.try_clone().unwrap());
        reader.read_line(&mut answer).unwrap();
        Self {
            connection,
            ports: serde_json::from_str(&answer).unwrap(),
            killed,
            server: Some(server),
        }
    }

    /// Ends it as a test does.
    fn end(mut self) {
        self.connection.shutdown(Shutdown::Write).unwrap();
        self.connection.read_to_end(&mut Vec::new()).unwrap();
        self.kill();
    }

    /// Ends it at once, with the calls that are under way.
    fn kill(&mut self) {
        self.killed.store(true, Ordering::Relaxed);
        if let Some(server) = self.server.take() {
            server.join().unwrap();
        }
    }
}

fn serve(listener: &TcpListener, name: &str, killed: &Arc<AtomicBool>) {
    listener.set_nonblocking(true).unwrap();
    while !killed.load(Ordering::Relaxed) {
        let Ok((mut call, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let (name, killed) = (name.to_owned(), killed.clone());
        thread::spawn(move || {
            call.set_nonblocking(false).unwrap();
            let mut question = [0; 4];
            let asked = call.read_exact(&mut question);
            thread::sleep(TICK);
            if asked.is_ok() && !killed.load(Ordering::Relaxed) {
                call.write_all(name.as_bytes()).unwrap();
            }
        });
    }
}

/// The name of the operator that answers.
fn call(port: u16) -> io::Result<String> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    connection.write_all(b"ping")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    if answer.is_empty() {
        return Err(io::Error::other("no answer"));
    }
    Ok(answer)
}

fn control_plane() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_certificate(folder.path()).unwrap();
    start(folder.path()).unwrap();
    folder
}

#[test]
fn no_call_fails_while_operators_start_and_end() {
    let folder = control_plane();
    let first = Operator::start(folder.path(), "first", &["convert"]);
    let (port, calls, over) = (first.ports[0], AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    call(port).unwrap();
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut last = Some(first);
        for round in 0..30 {
            // In each third round, none runs for a moment.
            let next = (round % 3 > 0).then(|| Operator::start(folder.path(), "a", &["convert"]));
            let before = calls.load(Ordering::Relaxed);
            if let Some(operator) = std::mem::replace(&mut last, next) {
                operator.end();
            }
            let operator =
                last.get_or_insert_with(|| Operator::start(folder.path(), "b", &["convert"]));
            assert_eq!(operator.ports, [port]);
            let began = Instant::now();
            while calls.load(Ordering::Relaxed) == before && began.elapsed() < LONG {
                thread::sleep(TICK);
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(calls.load(Ordering::Relaxed) >= 30);
}

#[test]
fn the_last_operator_that_has_started_and_runs_is_called() {
    let folder = control_plane();
    let start = |name, endpoints: &[&str]| Operator::start(folder.path(), name, endpoints);
    let first = start("first", &["one", "convert"]);
    let mut second = start("second", &["two", "convert"]);
    let [one, convert] = first.ports[..] else {
        panic!()
    };
    let two = second.ports[0];
    assert_eq!(second.ports[1], convert);
    let answers = |ports: [u16; 3]| ports.map(|port| call(port).unwrap());
    assert_eq!(answers([one, two, convert]), ["first", "second", "second"]);

    // It has crashed, and nobody has told the relay.
    second.kill();
    assert_eq!(call(convert).unwrap(), "first");
    drop(second.connection);
    assert_eq!(call(convert).unwrap(), "first");

    let third = start("third", &["two", "convert"]);
    assert_eq!(third.ports, [two, convert]);
    first.end();
    assert_eq!(call(convert).unwrap(), "third");
}

#[test]
fn a_call_waits_for_the_next_operator() {
    let folder = control_plane();
    let first = Operator::start(folder.path(), "first", &["convert"]);
    let port = first.ports[0];
    first.end();
    let waiting = thread::spawn(move || call(port).unwrap());
    let _second = Operator::start(folder.path(), "second", &["convert"]);
    assert_eq!(waiting.join().unwrap(), "second");
}

#[test]
fn what_is_no_operator_is_ignored() {
    let folder = control_plane();
    for line in ["\n", "{}\n", "{\"port\": 1", ""] {
        let mut connection = UnixStream::connect(folder_of(folder.path()).join(SOCKET)).unwrap();
        connection.write_all(line.as_bytes()).unwrap();
        connection.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "", "{line}");
    }
    let operator = Operator::start(folder.path(), "a", &["convert"]);
    assert_eq!(call(operator.ports[0]).unwrap(), "a");
}
