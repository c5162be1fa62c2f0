//! Fuzzing in process: mutates a corpus, and runs a target on each result. The same seed gives the same input.
//!
//! `KBR_FUZZ_SECONDS` runs each target for as long; otherwise it runs [`ROUNDS`] inputs. `KBR_SEED` sets the first seed (1). A failure
//! prints the seed of its input.

#![allow(dead_code, reason = "each crate uses its part")]

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The inputs of a target in an ordinary test run.
const ROUNDS: u64 = 300;
/// The longest input.
const LONGEST: usize = 64 << 10;
/// The processor time that a target may take for one input: a second, twenty times as much if it is not optimized.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });
/// After this time, a target hangs.
const HANGS: Duration = Duration::from_secs(300);
/// As the main thread of a program has.
const STACK: usize = 8 << 20;

/// Pseudo-random numbers, the same for the same seed (splitmix64).
pub struct Random(pub u64);

impl Random {
    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % end.max(1) as u64).expect("below a usize")
    }

    /// A part of a sequence of this length, most often a short one.
    fn range(&mut self, length: usize) -> Range<usize> {
        let start = self.below(length + 1);
        let most = [4, 64, length][self.below(3)];
        start..(start + self.below(most + 1)).min(length)
    }

    /// One of several.
    pub fn one<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// What a target starts from.
#[derive(Clone, Copy)]
pub struct Corpus<'a> {
    /// Inputs that it accepts, or nearly.
    pub inputs: &'a [&'a [u8]],
    /// Pieces that mean something to it.
    pub words: &'a [&'a str],
}

/// Runs `target` on mutated inputs.
///
/// # Panics
/// It panics, or takes too long.
#[track_caller]
pub fn run(corpus: Corpus, target: impl Fn(&[u8]) + Sync) {
    each_seed(ROUNDS, |seed| {
        let input = input(corpus, seed);
        // An overflow of the stack ends the process, so the input of a seed can be seen before.
        if number("KBR_SEED") == Some(seed) {
            eprintln!("{}", String::from_utf8_lossy(&input));
        }
        if let Err(what) = bounded(&target, &input, format!("KBR_SEED={seed}")) {
            let shown = String::from_utf8_lossy(&input[..input.len().min(2000)]);
            panic!("{what}\nKBR_SEED={seed}, {} bytes:\n{shown}", input.len());
        }
    });
}

/// Runs `target`, which makes its own input of the numbers: `rounds` times, if `KBR_FUZZ_SECONDS` does not say how long.
///
/// # Panics
/// It returns what is wrong.
#[track_caller]
pub fn made(rounds: u64, target: impl Fn(&mut Random) -> Result<(), String>) {
    each_seed(rounds, |seed| {
        if let Err(what) = target(&mut Random(seed)) {
            panic!("{what}\nKBR_SEED={seed}");
        }
    });
}

#[track_caller]
fn each_seed(rounds: u64, run: impl Fn(u64)) {
    let seconds = number("KBR_FUZZ_SECONDS").map(Duration::from_secs);
    let first = number("KBR_SEED").unwrap_or(1);
    let start = Instant::now();
    let goes_on = |seed: u64| match seconds {
        Some(seconds) => start.elapsed() < seconds,
        None => seed - first < rounds,
    };
    for seed in (first..).take_while(|seed| goes_on(*seed)) {
        run(seed);
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs `target` in a thread with the stack of a program.
fn bounded(target: &(impl Fn(&[u8]) + Sync), input: &[u8], name: String) -> Result<(), String> {
    let (done, result) = mpsc::channel();
    thread::scope(|scope| {
        let work = move || {
            let before = processor_time();
            let outcome = catch_unwind(AssertUnwindSafe(|| target(input)));
            let took = processor_time().saturating_sub(before);
            done.send((outcome, took)).ok();
        };
        // The runtime names the thread whose stack overflows.
        let builder = thread::Builder::new().name(name).stack_size(STACK);
        builder.spawn_scoped(scope, work).expect("a thread");
        match result.recv_timeout(HANGS) {
            Ok((Ok(()), took)) if took <= LIMIT => Ok(()),
            Ok((Ok(()), took)) => Err(format!("it took {took:?}")),
            Ok((Err(panic), _)) => Err(message(panic)),
            // The thread cannot be ended, and would keep the scope open.
            Err(RecvTimeoutError::Timeout) => {
                eprintln!("it hangs: {}", String::from_utf8_lossy(input));
                std::process::abort()
            }
            Err(RecvTimeoutError::Disconnected) => Err("the thread ended".to_owned()),
        }
    })
}

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => match panic.downcast::<&str>() {
            Ok(text) => (*text).to_owned(),
            Err(panic) => resume_unwind(panic),
        },
    }
}

/// The processor time of this thread, which does not depend on what else the machine does.
pub fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// The input of a seed: one of the corpus, changed up to eight times.
fn input(corpus: Corpus, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut input = random.one(corpus.inputs).to_vec();
    for _ in 0..=random.below(8) {
        mutate(corpus, &mut random, &mut input);
        input.truncate(LONGEST);
    }
    input
}

fn mutate(corpus: Corpus, random: &mut Random, input: &mut Vec<u8>) {
    let range = random.range(input.len());
    let byte = u8::try_from(random.below(256)).expect("a byte");
    match random.below(9) {
        0 if !input.is_empty() => {
            let at = random.below(input.len());
            input[at] = byte;
        }
        1 => drop(input.drain(range)),
        2 => {
            let part = input[range].to_vec();
            insert(random, input, &part);
        }
        3 => {
            let word = random.one(corpus.words);
            input.splice(range, word.bytes());
        }
        4 => {
            let word = random.one(corpus.words);
            insert(random, input, word.as_bytes());
        }
        5 => {
            let other = random.one(corpus.inputs);
            let part = other[random.range(other.len())].to_vec();
            input.splice(range, part);
        }
        // Deep nesting and long lines.
        6 if random.below(4) == 0 => {
            let word = random.one(corpus.words);
            let times = random.below(LONGEST / word.len().max(1) + 1);
            insert(random, input, word.repeat(times).as_bytes());
        }
        7 => {
            let odd = [
                "\0",
                "\u{1b}[2J",
                "\u{feff}",
                "\r\n",
                "\u{202e}",
                "é",
                "💥",
                "\u{7f}",
            ];
            let odd = random.one(&odd);
            insert(random, input, odd.as_bytes());
        }
        _ => insert(random, input, &[byte]),
    }
}

fn insert(random: &mut Random, input: &mut Vec<u8>, part: &[u8]) {
    let at = random.below(input.len() + 1);
    input.splice(at..at, part.iter().copied());
}
