//! Random values of Secrets, of each shape.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::fuzz::Random;
use crate::secrets::encoded;

/// A value of a Secret, the parts of it that must not be found, and whether a parser accepts it.
pub struct Planted {
    pub value: Vec<u8>,
    pub parts: Vec<String>,
    pub parses: fn(&[u8]) -> bool,
}

const SHAPES: [fn(&mut Random) -> Planted; 15] = [
    words,
    number,
    hexadecimal,
    quoted,
    registry,
    environment,
    yaml,
    url,
    binary,
    encoded_binary,
    token,
    unknown_key,
    key_pair,
    compressed,
    short,
];

/// A value of one of the shapes.
pub fn any(random: &mut Random) -> Planted {
    SHAPES[random.below(SHAPES.len())](random)
}

fn new(value: impl Into<Vec<u8>>, parts: &[&str], parses: fn(&[u8]) -> bool) -> Planted {
    Planted {
        value: value.into(),
        parts: parts.iter().map(|it| (*it).to_owned()).collect(),
        parses,
    }
}

fn of(random: &mut Random, alphabet: &[u8], length: usize) -> String {
    let one = |_| char::from(alphabet[random.below(alphabet.len())]);
    (0..length).map(one).collect()
}

fn word(random: &mut Random) -> String {
    let length = 8 + random.below(24);
    of(
        random,
        b"abcdefghijkmnopqrstuvwxyzABCDEFGHJK023456789",
        length,
    )
}

fn bytes(random: &mut Random) -> Vec<u8> {
    let length = 16 + random.below(30);
    let one = |_| u8::try_from(random.below(256)).unwrap();
    (0..length).map(one).collect()
}

fn text(value: &[u8]) -> &str {
    str::from_utf8(value).unwrap()
}

fn json(value: &[u8]) -> Value {
    serde_json::from_slice(value).unwrap()
}

fn words(random: &mut Random) -> Planted {
    let value = format!("{}!$ {}\n", word(random), word(random));
    new(value, &[], |it| it.ends_with(b"\n"))
}

fn number(random: &mut Random) -> Planted {
    let value = of(random, b"123456789", 12);
    new(value, &[], |it| text(it).parse::<u64>().is_ok())
}

fn hexadecimal(random: &mut Random) -> Planted {
    let value = of(random, b"0123456789abcdef", 40);
    new(value, &[], |it| {
        it.len() == 40 && it.iter().all(u8::is_ascii_hexdigit)
    })
}

fn quoted(random: &mut Random) -> Planted {
    let [a, b] = [word(random) + "\"\n", word(random)];
    let value = json!({"a": {"b": [a, true, 12, null]}, "c": b});
    new(value.to_string(), &[&a, &b], |it| {
        json(it)["a"]["b"][2] == 12
    })
}

fn registry(random: &mut Random) -> Planted {
    let [a, b] = [word(random), word(random)];
    let auth = STANDARD.encode(format!("{a}:{b}"));
    let value = json!({"auths": {"r.io": {"username": a, "password": b, "auth": auth}}});
    new(value.to_string(), &[&a, &b, &auth], |it| {
        let one = &json(it)["auths"]["r.io"];
        let pair = [&one["username"], &one["password"]].map(|it| it.as_str().unwrap());
        one["auth"] == STANDARD.encode(pair.join(":"))
    })
}

fn environment(random: &mut Random) -> Planted {
    let [a, b] = [word(random), word(random)];
    let value = format!("export A={a}\n# c\nB_C=\"{b}\"\n");
    new(value, &[&a, &b], |it| {
        let lines: Vec<_> = text(it).lines().collect();
        let [first, _, last] = lines[..] else {
            return false;
        };
        first.starts_with("export A=") && last.starts_with("B_C=\"") && last.ends_with('"')
    })
}

fn yaml(random: &mut Random) -> Planted {
    let [a, b] = [word(random), word(random)];
    let value = format!("a:\n  b: x{a}\n  c: ['{b}']\n  d: 5\n");
    new(value, &[], |it| {
        let value: Value = kbr_host::yaml::document(text(it)).unwrap();
        let a = &value["a"];
        a["b"].is_string() && a["c"].is_array() && a["d"].is_number()
    })
}

fn url(random: &mut Random) -> Planted {
    let [a, b] = [word(random), word(random)];
    let value = format!("postgres://u:{a}@db.{b}.svc:5432/d?x=1");
    new(value, &[&a], |it| {
        let it = text(it);
        it.starts_with("postgres://") && it.contains(":5432/") && it.contains("?x=")
    })
}

fn binary(random: &mut Random) -> Planted {
    new(bytes(random), &[], |it| it.len() >= 16)
}

fn encoded_binary(random: &mut Random) -> Planted {
    let value = STANDARD.encode(bytes(random)) + "\n";
    new(value, &[], |it| STANDARD.decode(text(it).trim()).is_ok())
}

fn token(random: &mut Random) -> Planted {
    let payload = json!({"sub": word(random), "exp": 12}).to_string();
    let parts = [&b"{\"alg\":\"x\"}"[..], payload.as_bytes(), &bytes(random)];
    let value = parts.map(encoded::to_url_base64).join(".");
    new(value, &[], |it| {
        let payload = text(it).split('.').nth(1);
        json(&payload.and_then(encoded::url_base64).unwrap())["exp"] == 12
    })
}

fn unknown_key(random: &mut Random) -> Planted {
    let body = STANDARD.encode([bytes(random), vec![7; 40], bytes(random)].concat());
    let (first, rest) = body.split_at(64);
    let label = "OPENSSH PRIVATE KEY";
    let value = format!("-----BEGIN {label}-----\n{first}\n{rest}\n-----END {label}-----\n");
    new(value, &[first, rest], |it| {
        let body: String = text(it).lines().filter(|it| !it.starts_with('-')).collect();
        STANDARD.decode(body).is_ok()
    })
}

fn key_pair(_: &mut Random) -> Planted {
    let value = KeyPair::generate().unwrap().serialize_pem();
    new(value, &[], |it| KeyPair::from_pem(text(it)).is_ok())
}

fn compressed(random: &mut Random) -> Planted {
    let a = word(random);
    let content = encoded::gzip(json!({"a": a, "n": 1}).to_string().as_bytes());
    new(STANDARD.encode(content), &[&a], |it| {
        let content = STANDARD.decode(it).unwrap();
        json(&encoded::gunzip(&content).unwrap())["n"] == 1
    })
}

/// Shorter than what is searched.
fn short(random: &mut Random) -> Planted {
    let length = 1 + random.below(3);
    let value = of(random, b"bcd123", length);
    new(value, &[], |it| it.len() < 4)
}
