//! Test clients whose bodies never arrive, beside those of an API server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    MUTATE, VALIDATE, changed,
    conversions::{conversion, thing},
    register,
    server::Server,
};

/// How many hostile clients there are, and how many reviews are sent meanwhile.
const CLIENTS: usize = 200;
const REVIEWS: usize = 1000;

/// How many reviews are sent at a time.
const AT_ONCE: usize = 8;

/// The time limit of a review on a busy machine. On an idle one, none takes a tenth of it.
const LIMIT: Duration = Duration::from_secs(5);

/// How long a hostile client waits between two bytes, and before it connects again.
const PAUSE: Duration = Duration::from_secs(1);

/// The ways in which a body does not arrive.
#[derive(Clone, Copy)]
enum Way {
    /// Chunked, without a chunk.
    Unknown,
    /// Only its length is sent.
    Announced(&'static str, usize),
    /// One byte after the other.
    Dripping,
    /// All but the last bytes, and those one after the other.
    Stalling,
}

const WAYS: [Way; 6] = [
    Way::Unknown,
    Way::Announced(VALIDATE, 16 << 20),
    Way::Announced(MUTATE, 7 << 20),
    Way::Announced("/convert", 12 << 20),
    Way::Dripping,
    Way::Stalling,
];

impl Way {
    fn head(self) -> String {
        let (path, length) = match self {
            Self::Unknown => (VALIDATE, "transfer-encoding: chunked".to_owned()),
            Self::Announced(path, length) => (path, format!("content-length: {length}")),
            Self::Dripping | Self::Stalling => (VALIDATE, format!("content-length: {}", 2 << 20)),
        };
        format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{length}\r\n\r\n"
        )
    }

    /// The bytes to send at once.
    fn burst(self) -> Vec<u8> {
        match self {
            Self::Stalling => vec![b' '; (2 << 20) - 1000],
            Self::Unknown | Self::Announced(..) | Self::Dripping => Vec::new(),
        }
    }

    /// Sends a request, and keeps its connection until the server closes it.
    async fn attack(self, server: &Server) -> anyhow::Result<()> {
        let mut stream = server.connect().await?;
        stream.write_all(self.head().as_bytes()).await?;
        stream.write_all(&self.burst()).await?;
        stream.flush().await?;
        loop {
            match timeout(PAUSE, stream.read(&mut [0; 1024])).await {
                Ok(Ok(1..)) => {}
                Ok(_) => return Ok(()),
                Err(_) if matches!(self, Self::Dripping | Self::Stalling) => {
                    stream.write_all(b" ").await?;
                    stream.flush().await?;
                }
                Err(_) => {}
            }
        }
    }
}

/// A review of a usual size, or of more than needs no room.
fn honest(number: usize) -> Vec<u8> {
    changed("good", |review| {
        if number.is_multiple_of(10) {
            review["request"]["object"]["data"] = json!({ "a": "x".repeat(100 << 10) });
        }
    })
}

/// Sends reviews one after the other; returns how long the slowest one took.
async fn review_all(server: &Server, next: &AtomicUsize) -> Duration {
    let mut slowest = Duration::ZERO;
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= REVIEWS {
            return slowest;
        }
        let started = Instant::now();
        let (status, answer) = server.post(VALIDATE, &honest(number)).await;
        let allowed = (status, &answer["response"]["allowed"]);
        assert_eq!(allowed, (200, &Value::Bool(true)), "{number}: {answer}");
        slowest = slowest.max(started.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_bodies_that_never_arrive_delay_no_review() {
    let server = Arc::new(Server::start(register));
    let mut hostile = JoinSet::new();
    for number in 0..CLIENTS {
        let server = server.clone();
        hostile.spawn(async move {
            loop {
                let _ = WAYS[number % WAYS.len()].attack(&server).await;
                sleep(PAUSE).await;
            }
        });
    }
    let (next, mut honest) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
    for _ in 0..AT_ONCE {
        let (server, next) = (server.clone(), next.clone());
        honest.spawn(async move { review_all(&server, &next).await });
    }
    let slowest = honest.join_all().await.into_iter().max().unwrap();
    println!("the slowest of {REVIEWS} reviews took {slowest:?}");
    assert!(slowest < LIMIT, "a review took {slowest:?}");
    hostile.abort_all();
}

/// How many clients read no answers, and how many bytes each sends in a tenth of a second.
const DEAF: usize = 10;
const SLOWLY: usize = 42_000;

/// A review whose answer is as large as it is, or larger.
fn with_large_answer(number: usize) -> (&'static str, Vec<u8>) {
    if number.is_multiple_of(3) {
        return (MUTATE, super::review("big").to_string().into_bytes());
    }
    let large = |at| {
        thing(
            at,
            "v1",
            &json!({ "old": "x", "new2": "x".repeat(3 << 20) }),
        )
    };
    let objects = json!((0..number % 3).map(large).collect::<Vec<_>>());
    ("/convert", conversion("a.example.com/v2", &objects))
}

/// Sends the same review again and again, the first one at once if it is `fast`, and reads nothing. Fails when the server
/// closes the connection.
async fn send_and_read_nothing(
    server: &Server,
    (path, body): &(&str, Vec<u8>),
    mut fast: bool,
) -> anyhow::Result<()> {
    let mut stream = server.connect().await?;
    loop {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        for part in body.chunks(if fast { body.len() } else { SLOWLY }) {
            stream.write_all(part).await?;
            stream.flush().await?;
            sleep(PAUSE / 10).await;
        }
        fast = false;
    }
}

/// A review of 300 kB.
fn of_300_kb(number: usize) -> Vec<u8> {
    changed("good", |review| {
        let data = match number % 2 {
            0 => json!({ "a": "x".repeat(300_000) }),
            _ => (0..6000)
                .map(|at| (format!("key-{at}"), json!("x".repeat(35))))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        };
        review["request"]["object"]["data"] = data;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_clients_that_read_no_answers_make_no_large_review_fail() {
    let server = Arc::new(Server::start(register));
    let mut deaf = JoinSet::new();
    for number in 0..DEAF {
        let server = server.clone();
        deaf.spawn(async move {
            let review = with_large_answer(number);
            let _ = send_and_read_nothing(&server, &review, true).await;
            loop {
                let _ = send_and_read_nothing(&server, &review, false).await;
                sleep(PAUSE).await;
            }
        });
    }
    // At first a few at a time, and then all at once.
    for at_once in [AT_ONCE, 100] {
        let next = Arc::new(AtomicUsize::new(0));
        let mut honest = JoinSet::new();
        for _ in 0..at_once {
            let (server, next) = (server.clone(), next.clone());
            honest.spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= 100 {
                        return;
                    }
                    let path = [VALIDATE, MUTATE][number / 2 % 2];
                    let (status, answer) = server.post(path, &of_300_kb(number)).await;
                    let allowed = (status, &answer["response"]["allowed"]);
                    assert_eq!(allowed, (200, &Value::Bool(true)), "{number}: {answer}");
                }
            });
        }
        honest.join_all().await;
    }
    deaf.abort_all();
}
