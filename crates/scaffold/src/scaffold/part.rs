//! One file of a rendered set.

/// A file, or lines for one. Paths are relative to the project's root, with `/` between their parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "faults", derive(serde::Deserialize))]
pub enum Part {
    /// A whole file: `x.tera`, `x.once.tera`, `x.generated.tera`, or a file without one of our suffixes.
    Whole {
        /// The path of the file.
        path: String,
        /// Whether kbr or the user changes the file once it exists.
        policy: Policy,
        /// The content.
        text: String,
    },
    /// Lines for a file that another part writes: `x.insert.tera`.
    Lines {
        /// The path of the file.
        path: String,
        /// The marker's name: `controllers` for `// +kbr:scaffold:controllers`.
        marker: String,
        /// Whether the lines are a choice that the user can change later: a repeated command does not insert them again.
        #[cfg_attr(feature = "faults", serde(default))]
        once: bool,
        /// The lines that go above the marker, without its indentation, each ended by a line feed.
        lines: String,
    },
}

impl Part {
    /// The path of the file.
    pub fn path(&self) -> &str {
        match self {
            Part::Whole { path, .. } | Part::Lines { path, .. } => path,
        }
    }
}

/// Whether kbr or the user changes a file after it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "faults", derive(serde::Deserialize))]
pub enum Policy {
    /// The command that writes it owns it: `--force` overwrites it.
    Owned,
    /// The first command that needs it writes it; from then on it belongs to the user, and `--force` leaves it alone.
    Once,
    /// `kbr manifests` generates it; a command writes the initial text.
    Generated,
}
