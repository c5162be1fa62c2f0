//! What a command wants of a project's files, as data.

/// One thing that a command wants of one file. Paths are relative to the project's root, with `/` between their parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "faults", derive(serde::Deserialize))]
pub enum Op {
    /// The command owns this file: `x.tera`, or a file without a suffix of ours.
    Create {
        /// Where.
        path: String,
        /// The whole file.
        text: String,
    },
    /// A shared file: whoever comes first writes it, then it is the user's (`x.once.tera`).
    Once {
        /// Where.
        path: String,
        /// The whole file.
        text: String,
    },
    /// Lines for a file that exists by then (`x.insert.tera`).
    Insert {
        /// The file.
        path: String,
        /// The marker's name: `controllers` for `// +kbr:scaffold:controllers`.
        marker: String,
        /// The lines that go above the marker, without its indentation, each ended by a line feed.
        lines: String,
    },
    /// A table (at `init`, the head) to append to PROJECT.
    Record {
        /// TOML, ended by a line feed.
        text: String,
    },
}
