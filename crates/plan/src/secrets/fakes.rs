//! The fakes that were made so far: equal values get equal ones, and different values different ones.

use std::collections::{HashMap, HashSet};

use super::certificates::Certificates;
use super::key::{Key, Stream};

/// The shortest value that is searched for in other objects. A shorter one is a common word, or a number.
pub const SHORTEST: usize = 8;

/// After as many attempts, a fake may be equal to another one. Only values of one or two characters have so few fakes.
const ATTEMPTS: u32 = 1000;

/// How a value is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Treatment {
    /// Through how many more layers, such as JSON in base64, a value is taken apart.
    pub layers: u8,
    /// Whether it is searched for in other objects.
    pub searched: bool,
}

impl Treatment {
    /// That of a value of a Secret.
    pub const VALUE: Treatment = Treatment {
        layers: 6,
        searched: true,
    };

    /// That of a part which is a public text, or a common word.
    pub fn unsearched(self) -> Treatment {
        Treatment {
            searched: false,
            ..self
        }
    }

    /// That of what a layer contains.
    pub fn inner(self) -> Treatment {
        Treatment {
            layers: self.layers.saturating_sub(1),
            ..self
        }
    }
}

/// Makes the fake of a text of any shape.
pub type OfText = fn(&mut Fakes, &str, Treatment) -> String;

/// All fakes of a clone.
pub struct Fakes {
    key: Key,
    of_text: OfText,
    made: HashMap<Vec<u8>, Vec<u8>>,
    taken: HashSet<Vec<u8>>,
    searched: HashSet<Vec<u8>>,
    /// Those of key pairs and certificates.
    pub certificates: Certificates,
}

impl Fakes {
    /// With a random key. `of_text` is what modules call for the parts of what they know: a value of YAML may be JSON, whose strings may be
    /// YAML.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn new(of_text: OfText) -> anyhow::Result<Fakes> {
        Ok(Fakes {
            key: Key::random()?,
            of_text,
            made: HashMap::new(),
            taken: HashSet::new(),
            searched: HashSet::new(),
            certificates: Certificates::default(),
        })
    }

    /// The fake of a text of any shape.
    pub fn text(&mut self, text: &str, treatment: Treatment) -> String {
        (self.of_text)(self, text, treatment)
    }

    /// The fake that was made of a value.
    pub fn known(&self, value: &[u8]) -> Option<&Vec<u8>> {
        self.made.get(value)
    }

    /// Remembers the fake of a value.
    pub fn remember(&mut self, value: &[u8], fake: &[u8]) {
        self.made.insert(value.to_owned(), fake.to_owned());
    }

    /// A value that other objects must not contain.
    pub fn search(&mut self, value: &[u8]) {
        if value.len() >= SHORTEST && !self.searched.contains(value) {
            self.searched.insert(value.to_owned());
        }
    }

    /// A fake that is neither the value nor that of another value, of those that `make` makes.
    pub fn unique(
        &mut self,
        value: &[u8],
        mut make: impl FnMut(&mut Stream, u32) -> Vec<u8>,
    ) -> Vec<u8> {
        let mut fake = Vec::new();
        for attempt in 0..ATTEMPTS {
            fake = make(&mut self.key.stream(value, attempt), attempt);
            if fake != value && !is_word(&fake) && !self.taken.contains(&fake) {
                break;
            }
        }
        self.taken.insert(fake.clone());
        fake
    }

    /// Each value that other objects must not contain, and its fake. The key is dropped.
    pub fn into_searched(self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let Fakes {
            mut made, searched, ..
        } = self;
        searched.into_iter().filter_map(move |value| {
            let fake = made.remove(&value)?;
            (fake != value).then_some((value, fake))
        })
    }
}

/// Words that mean something in YAML and in most configurations. They are kept, and no fake is one.
pub fn is_word(value: &[u8]) -> bool {
    const WORDS: [&str; 9] = [
        "true", "false", "yes", "no", "on", "off", "null", "none", "nil",
    ];
    std::str::from_utf8(value)
        .is_ok_and(|text| WORDS.iter().any(|word| word.eq_ignore_ascii_case(text)))
}
