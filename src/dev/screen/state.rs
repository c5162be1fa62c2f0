//! What the screen shows: a plain value that updates and keys change.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use super::object::{Event, Object};

/// The number of lines of the log, and of events, that are kept.
const KEPT: usize = 5000;

/// A change of what the screen shows.
#[derive(Debug)]
pub enum Update {
    /// How to reach the API server.
    Cluster(String),
    /// Manifests and the operator are being built.
    Building,
    /// They are built, and the operator runs; or the code has errors.
    Built { ok: bool, took: Duration },
    /// The operator.
    Operator(Operator),
    /// Text for people, which is printed where there is no screen.
    Text(String),
    /// A line of the operator's log.
    Log(String),
    /// An object of a kind was created or changed.
    Object { kind: String, object: Object },
    /// An object was deleted.
    Deleted { kind: String, name: String },
    /// All objects of the kind follow.
    Listing { kind: String },
    /// The objects of the kind cannot be read.
    Unreadable { kind: String, reason: String },
    /// An event happened.
    Event(Event),
}

/// Whether the operator runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Operator {
    #[default]
    NotStarted,
    Running(SystemTime),
    /// With its exit status.
    Ended(String),
}

impl From<Operator> for Update {
    fn from(operator: Operator) -> Self {
        Update::Operator(operator)
    }
}

/// The last build.
#[derive(Debug, Default, PartialEq)]
pub enum Build {
    #[default]
    None,
    /// Since when.
    Running(SystemTime),
    /// How long it took, and when it ended.
    Done {
        ok: bool,
        took: Duration,
        at: SystemTime,
    },
}

/// The objects of a kind.
#[derive(Debug, Default)]
pub struct Kind {
    /// By name.
    pub objects: BTreeMap<String, Object>,
    /// Why they cannot be read.
    pub problem: Option<String>,
}

/// The pages of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Page {
    #[default]
    Overview,
    Log,
    Build,
}

/// A key, as far as the screen knows keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Interrupt,
    /// Scrolls by so many lines, up if negative.
    Scroll(isize),
    /// Scrolls by so many pages.
    ScrollPages(isize),
    First,
    Last,
}

/// What the user asks the session to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    ApplySamples,
    Restart,
}

/// Everything that the screen shows.
#[derive(Debug)]
pub struct State {
    pub project: String,
    pub began: SystemTime,
    pub cluster: String,
    pub operator: Operator,
    pub build: Build,
    /// The text of the last build.
    pub output: Vec<String>,
    /// The last line that reports progress.
    pub progress: String,
    pub kinds: BTreeMap<String, Kind>,
    /// The newest is the last one.
    pub events: VecDeque<Event>,
    /// Errors and warnings, with the time at which they came.
    pub problems: VecDeque<(SystemTime, String)>,
    pub log: VecDeque<String>,
    pub page: Page,
    /// Only lines and objects with this text are shown.
    pub filter: String,
    /// Whether keys change the filter.
    pub typing: bool,
    /// How many lines the page is scrolled up from its end.
    pub scrolled: usize,
    /// Whether kbr ends.
    pub stopping: bool,
    /// The number of lines of the screen that a page shows.
    pub height: usize,
}

impl State {
    pub fn new(project: &str, began: SystemTime) -> Self {
        Self {
            project: project.to_owned(),
            began,
            cluster: String::new(),
            operator: Operator::default(),
            build: Build::default(),
            output: Vec::new(),
            progress: String::new(),
            kinds: BTreeMap::new(),
            events: VecDeque::new(),
            problems: VecDeque::new(),
            log: VecDeque::new(),
            page: Page::default(),
            filter: String::new(),
            typing: false,
            scrolled: 0,
            stopping: false,
            height: 20,
        }
    }

    /// Applies an update that came at `now`.
    pub fn apply(&mut self, update: Update, now: SystemTime) {
        match update {
            Update::Cluster(text) => self.cluster = text,
            Update::Building => {
                self.output.clear();
                self.build = Build::Running(now);
            }
            Update::Built { ok, took } => self.build = Build::Done { ok, took, at: now },
            Update::Operator(operator) => self.operator = operator,
            Update::Text(text) => text.lines().for_each(|line| self.text(line, now)),
            Update::Log(line) => {
                if is_error(&line) {
                    push(&mut self.problems, (now, line.clone()));
                }
                self.line(line);
            }
            Update::Object { kind, object } => {
                let kind = self.kinds.entry(kind).or_default();
                kind.objects.insert(object.name.clone(), object);
            }
            Update::Deleted { kind, name } => {
                let kind = self.kinds.entry(kind).or_default();
                kind.objects.remove(&name);
            }
            Update::Listing { kind } => drop(self.kinds.insert(kind, Kind::default())),
            Update::Unreadable { kind, reason } => {
                self.kinds.entry(kind).or_default().problem = Some(reason);
            }
            Update::Event(event) => {
                // A watch begins with the events so far, in any order.
                let at = self.events.partition_point(|it| it.time <= event.time);
                self.events.insert(at, event);
                if self.events.len() > KEPT {
                    self.events.pop_front();
                }
            }
        }
    }

    fn text(&mut self, line: &str, now: SystemTime) {
        if matches!(self.build, Build::Running(_)) {
            self.output.push(line.to_owned());
        } else if line.starts_with("error: ") || line.starts_with("warning: ") {
            push(&mut self.problems, (now, line.to_owned()));
        }
        line.trim().clone_into(&mut self.progress);
        self.line(line.to_owned());
    }

    fn line(&mut self, line: String) {
        // What is on the screen stays there while the log grows.
        if self.page == Page::Log && self.scrolled > 0 && line.contains(&self.filter) {
            self.scrolled += 1;
        }
        push(&mut self.log, line);
    }

    /// Applies a key. The result is what the session is to do.
    pub fn press(&mut self, key: Key) -> Option<Command> {
        match key {
            Key::Char(character) if self.typing => self.filter.push(character),
            Key::Backspace if self.typing => drop(self.filter.pop()),
            Key::Enter if self.typing => self.typing = false,
            Key::Escape if self.typing || !self.filter.is_empty() => {
                self.typing = false;
                self.filter.clear();
            }
            Key::Escape => self.open(Page::Overview),
            Key::Interrupt | Key::Char('q') => self.stopping = true,
            Key::Char('a') => return Some(Command::ApplySamples),
            Key::Char('r') => return Some(Command::Restart),
            Key::Char('/') => self.typing = true,
            Key::Char('l') => self.open(Page::Log),
            Key::Char('b') => self.open(Page::Build),
            Key::Scroll(lines) => self.scroll(lines),
            Key::ScrollPages(pages) => self.scroll(pages * self.height.cast_signed()),
            Key::First => self.scrolled = usize::MAX,
            Key::Last => self.scrolled = 0,
            Key::Char(_) | Key::Enter | Key::Backspace => {}
        }
        None
    }

    /// Opens a page, or the overview if the page is open.
    fn open(&mut self, page: Page) {
        self.page = if self.page == page {
            Page::Overview
        } else {
            page
        };
        self.scrolled = 0;
    }

    fn scroll(&mut self, lines: isize) {
        self.scrolled = self.scrolled.saturating_add_signed(-lines);
    }

    /// The lines of the page that fit on the screen, and the number of all.
    pub fn visible(&mut self) -> (Vec<&str>, usize) {
        let lines: Box<dyn DoubleEndedIterator<Item = &String>> = match self.page {
            Page::Build => Box::new(self.output.iter()),
            Page::Overview | Page::Log => Box::new(self.log.iter()),
        };
        let lines: Vec<&str> = lines
            .map(String::as_str)
            .filter(|line| line.contains(&self.filter))
            .collect();
        self.scrolled = self.scrolled.min(lines.len().saturating_sub(self.height));
        let end = lines.len() - self.scrolled;
        let start = end.saturating_sub(self.height);
        (lines[start..end].to_vec(), lines.len())
    }

    /// The number of warnings of the last build.
    pub fn warnings(&self) -> usize {
        let is_warning = |line: &&String| line.starts_with("warning: ");
        // cargo adds their number for each crate.
        let is_sum = |line: &&String| line.contains("` (") && line.contains(") generated ");
        let warnings = self.output.iter().filter(is_warning);
        warnings.filter(|line| !is_sum(line)).count()
    }

    /// The first error of the failed build.
    pub fn first_error(&self) -> &[String] {
        if !matches!(self.build, Build::Done { ok: false, .. }) {
            return &[];
        }
        let starts = |line: &String| line.starts_with("error");
        let start = self.output.iter().position(starts).unwrap_or(0);
        let error = &self.output[start..];
        let end = error.iter().position(String::is_empty);
        &error[..end.unwrap_or(error.len())]
    }
}

/// Whether a line of the operator's log reports an error, as text or JSON.
fn is_error(line: &str) -> bool {
    let level = line.split_whitespace().nth(1);
    level == Some("ERROR") || line.contains(r#""level":"ERROR""#) || line.starts_with("Error:")
}

fn push<T>(lines: &mut VecDeque<T>, line: T) {
    lines.push_back(line);
    if lines.len() > KEPT {
        lines.pop_front();
    }
}
