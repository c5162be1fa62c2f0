//! Reads YAML that a stranger may have written, within one budget for all files of a command. What an alias repeats counts as if it
//! were written out: a few lines can repeat a value millions of times.

use std::cell::Cell;
use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_saphyr::{Budget as Limits, Error, Options};

/// What the YAML of a command may still have. A single file may have less: the limits of the parser.
#[derive(Debug)]
pub struct Budget {
    /// Scalars, lists and mappings.
    nodes: usize,
    /// Bytes of scalars.
    bytes: usize,
}

/// All CRDs of a large operator have a tenth of it.
const MOST_NODES: usize = 1_000_000;
const MOST_BYTES: usize = 64 << 20;

/// What a text may have beyond a node for each of its bytes, which is more than it can have without aliases.
const REPEATED: usize = 1000;

impl Default for Budget {
    fn default() -> Self {
        Self {
            nodes: MOST_NODES,
            bytes: MOST_BYTES,
        }
    }
}

impl Budget {
    /// The documents of a text, without those that are empty.
    ///
    /// # Errors
    /// It is not YAML, not of this type, or exceeds a limit: [`Budget::is_spent`] tells whether it is that of the command.
    pub fn documents<T: DeserializeOwned>(&mut self, text: &str) -> Result<Vec<T>, Error> {
        let read = |options| serde_saphyr::from_multiple_with_options(text, options);
        self.read(text.len(), read)
    }

    /// The only document of a text.
    ///
    /// # Errors
    /// As [`Budget::documents`], or there are several.
    pub fn document<T: DeserializeOwned>(&mut self, text: &str) -> Result<T, Error> {
        let read = |options| serde_saphyr::from_str_with_options(text, options);
        self.read(text.len(), read)
    }

    /// Whether the files have more than all files of a command may have, so that the last of them could not be read.
    pub fn is_spent(&self) -> bool {
        self.nodes == 0 || self.bytes == 0
    }

    fn read<T>(
        &mut self,
        length: usize,
        read: impl FnOnce(Options) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut limits = Limits::default();
        let most = limits.max_nodes.min(length.saturating_add(REPEATED));
        limits.max_nodes = most.min(self.nodes);
        limits.max_total_scalar_bytes = limits.max_total_scalar_bytes.min(self.bytes);
        // kubebuilder's own kustomization has 150 lines of comments in a row. No text has more than bytes.
        limits.max_buffered_comment_events = length;
        let used = Rc::new(Cell::new((0, 0)));
        let seen = Rc::clone(&used);
        let mut options = Options::default();
        options.budget = Some(limits);
        // It is reported even if the text cannot be read.
        let options = options.with_budget_report(move |report| {
            seen.set((report.nodes, report.total_scalar_bytes));
        });
        let result = read(options);
        let (nodes, bytes) = used.get();
        self.spend(nodes, bytes);
        result
    }

    /// Counts a text that another parser has read.
    pub fn spend(&mut self, nodes: usize, bytes: usize) {
        self.nodes = self.nodes.saturating_sub(nodes);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// The documents of the only text that a command reads.
///
/// # Errors
/// As [`Budget::documents`].
pub fn documents<T: DeserializeOwned>(text: &str) -> anyhow::Result<Vec<T>> {
    Budget::default().documents(text).map_err(|it| first(&it))
}

/// The only document of the only text that a command reads.
///
/// # Errors
/// As [`Budget::document`].
pub fn document<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    Budget::default().document(text).map_err(|it| first(&it))
}

/// What the parser says, without the part of the file that it shows.
fn first(error: &Error) -> anyhow::Error {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    anyhow::Error::msg(first.trim_start_matches("error: ").to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Lists = BTreeMap<String, Vec<serde::de::IgnoredAny>>;

    #[test]
    fn aliases_repeat_no_more_than_a_text_could_say() {
        let list = |repeated: usize| {
            format!(
                "a: &a [{}]\nb: [{}]\n",
                "x, ".repeat(9),
                "*a, ".repeat(repeated)
            )
        };
        assert!(documents::<Lists>(&list(10)).is_ok());
        assert!(documents::<Lists>(&list(1000)).is_err());
        // Ten lists, each of ten times the one before it.
        let repeat =
            |at: usize| format!("l{at}: &l{at} [{}]\n", format!("*l{}, ", at - 1).repeat(10));
        let text: String =
            "l0: &l0 [a, a, a]\n".to_owned() + &(1..10).map(repeat).collect::<String>();
        let mut budget = Budget::default();
        assert!(budget.documents::<Lists>(&text).is_err());
        assert!(MOST_NODES - budget.nodes < REPEATED + text.len() + 10);
    }

    #[test]
    fn all_files_of_a_command_have_one_budget() {
        let text = format!("a: [{}]", "a, ".repeat(97));
        let (nodes, bytes) = (1000, 1000);
        for mut budget in [
            Budget {
                nodes,
                bytes: MOST_BYTES,
            },
            Budget {
                nodes: MOST_NODES,
                bytes,
            },
        ] {
            let read = (0..).take_while(|_| budget.documents::<Lists>(&text).is_ok());
            assert!((9..11).contains(&read.count()));
            assert!(budget.is_spent());
            // From then on, nothing is read.
            assert!(budget.document::<Lists>("a: []").is_err());
        }
    }

    #[test]
    fn text_that_is_not_yaml_is_counted_and_leaves_the_rest() {
        let mut budget = Budget::default();
        assert!(budget.documents::<Lists>("a: [b]\nc: ]").is_err());
        assert!(budget.nodes < MOST_NODES && !budget.is_spent());
        assert_eq!(budget.document::<Lists>("a: [b]").unwrap().len(), 1);
    }

    #[test]
    fn comments_are_as_many_as_there_are() {
        let text = format!("a:\n{}- 1\n", "# x\n".repeat(10_000));
        let mut budget = Budget::default();
        let documents: Vec<BTreeMap<String, Vec<u8>>> = budget.documents(&text).unwrap();
        assert_eq!(documents[0]["a"], [1]);
    }
}
