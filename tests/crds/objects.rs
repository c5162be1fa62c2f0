//! Random objects that the API server accepts under a CRD come back the same from its types.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use super::batch::Compiled;
use super::collection::Entry;
use super::compare::difference;
use super::equal::Round;
use super::invent;
use super::program::Module;
use super::server::Server;

/// How many objects each version of a kind must pass.
const OBJECTS: usize = 100;

/// How many objects are made for that: the API server rejects some.
const TRIES: u64 = 500;

/// What the objects of all kinds came to.
#[derive(Debug, Default)]
pub struct Tally {
    pub kinds: usize,
    pub objects: usize,
    /// Why a kind had fewer objects than it should.
    pub short: Vec<String>,
    pub failures: Vec<String>,
}

/// An object that the API server accepts, and how it would be stored.
struct Accepted {
    sent: Value,
    stored: Value,
}

/// Passes objects of all kinds of a round through their types.
pub fn check(round: &Round, compiled: &Compiled, server: &Server, tally: &mut Tally) {
    for (entry, modules) in round.iter().flatten() {
        if let Err(why) = server.install(entry) {
            tally.short.push(format!(
                "{}: the API server rejects the CRD: {why}",
                entry.name
            ));
            continue;
        }
        for module in modules {
            let program = compiled
                .programs
                .iter()
                .find(|(_, modules)| modules.iter().any(|it| it.name == module.name));
            if let Some((program, _)) = program {
                of_version(entry, module, program, server, tally);
            }
        }
        server.remove(entry);
    }
}

fn of_version(entry: &Entry, module: &Module, program: &Path, server: &Server, tally: &mut Tally) {
    let versions = &entry.definition.versions;
    let Some(at) = versions
        .iter()
        .position(|version| version.name == module.version)
    else {
        return;
    };
    if !versions[at].served {
        return;
    }
    let (accepted, rejection) = accepted(entry, at, server);
    if accepted.len() < OBJECTS {
        tally.short.push(format!(
            "{} {}: {} objects; {rejection}",
            entry.name,
            module.version,
            accepted.len()
        ));
    }
    tally.kinds += 1;
    tally.objects += accepted.len();
    let before: Vec<&Value> = accepted
        .iter()
        .flat_map(|object| [&object.sent, &object.stored])
        .collect();
    let after = passed(program, &module.name, &before);
    let mut pairs = accepted.iter().zip(after.chunks(2));
    let problem = pairs.find_map(|(object, after)| {
        Some((
            object,
            problem(entry, &module.version, object, after, server)?,
        ))
    });
    if let Some((object, problem)) = problem {
        let text: String = object.sent.to_string().chars().take(1500).collect();
        tally.failures.push(format!(
            "{} {}: {problem}\n    {text}",
            entry.name, module.version
        ));
    }
}

/// Objects that the API server accepts, and why it rejects the last that it does.
fn accepted(entry: &Entry, version: usize, server: &Server) -> (Vec<Accepted>, String) {
    let name = &entry.definition.versions[version].name;
    let (mut accepted, mut rejection) = (Vec::new(), String::new());
    for seed in 0..TRIES {
        match server.accepted(entry, name, invent::object(entry, version, seed)) {
            Ok((sent, stored)) => accepted.push(Accepted { sent, stored }),
            Err(message) => rejection = message,
        }
        let is_hopeless = seed > 60 && accepted.is_empty();
        if accepted.len() == OBJECTS || is_hopeless {
            break;
        }
    }
    (accepted, rejection)
}

/// The objects after a pass through the types, or why they cannot be read or written.
fn passed(program: &Path, module: &str, objects: &[&Value]) -> Vec<Result<Value, String>> {
    let mut child = Command::new(program)
        .arg("objects")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    let mut input = child.stdin.take().expect("its input");
    let output = BufReader::new(child.stdout.take().expect("its output"));
    let lines = objects
        .iter()
        .map(|object| json!([module, object]).to_string());
    let lines = lines.collect::<Vec<_>>().join(
        "
",
    );
    let writer = thread::spawn(move || input.write_all(lines.as_bytes()));
    let read = |line: String| -> Result<Value, String> {
        let mut line: Value = serde_json::from_str(&line).expect("JSON");
        match line.get_mut("Ok") {
            Some(object) => Ok(object.take()),
            None => Err(line["Err"].as_str().unwrap_or_default().to_owned()),
        }
    };
    let passed = output
        .lines()
        .map(|line| read(line.expect("a line")))
        .collect();
    writer
        .join()
        .expect("no panic")
        .expect("the program reads all");
    child.wait().expect("the program ends");
    passed
}

/// What is wrong with an object as it was sent and as it was stored, after a pass through the types.
fn problem(
    entry: &Entry,
    version: &str,
    object: &Accepted,
    after: &[Result<Value, String>],
    server: &Server,
) -> Option<String> {
    match after {
        [Ok(sent), Ok(stored)] => changed(&object.stored, stored)
            .or_else(|| restored(entry, version, object, sent, server)),
        [Err(why), _] | [_, Err(why)] => Some(format!("cannot read: {why}")),
        _ => Some("the program ended".to_owned()),
    }
}

/// What a pass changed. An object without `spec` is read with the default of each field.
fn changed(before: &Value, after: &Value) -> Option<String> {
    let mut after = after.clone();
    if before.get("spec").is_none() {
        after.as_object_mut().map(|after| after.remove("spec"));
    }
    difference("", before, &respelled(before, &after))
}

/// `after`, with numbers as before: a quantity is written as text, and 1 as 1.0 if it could have a fraction.
fn respelled(before: &Value, after: &Value) -> Value {
    match (before, after) {
        (Value::Number(number), Value::String(text)) if number.to_string() == *text => {
            before.clone()
        }
        (Value::Number(number), Value::Number(other)) if number.as_f64() == other.as_f64() => {
            before.clone()
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => before
            .iter()
            .zip(after)
            .map(|(before, after)| respelled(before, after))
            .collect(),
        (Value::Object(before), Value::Object(after)) => {
            let null = Value::Null;
            let fields = after.iter().map(|(key, after)| {
                (
                    key.clone(),
                    respelled(before.get(key).unwrap_or(&null), after),
                )
            });
            Value::Object(fields.collect())
        }
        _ => after.clone(),
    }
}

/// If an object is written differently, the API server must store it the same.
fn restored(
    entry: &Entry,
    version: &str,
    object: &Accepted,
    after: &Value,
    server: &Server,
) -> Option<String> {
    if object.sent == *after || object.sent.get("spec").is_none() {
        return None;
    }
    match server.stored(entry, version, after) {
        Ok(stored) => {
            changed(&object.stored, &stored).map(|changed| format!("stored differently: {changed}"))
        }
        Err(answer) => Some(format!(
            "the API server rejects what the types write: {}",
            answer["message"]
        )),
    }
}
