//! What the screen shows: a plain value that updates and keys change.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use super::lines::{is_problem, plain, wrapped};
use super::object::{Event, Object};
use super::update::{Command, Key, Operator, Update};

/// The number of lines that are kept of the log.
const LINES: usize = 5000;

/// The most lines of a problem: a backtrace has many.
const ROWS: usize = 10;

/// The number of events, and of errors and warnings, that are kept.
const EVENTS: usize = 1000;

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

/// Everything that the screen shows.
#[derive(Debug)]
pub struct State {
    pub project: String,
    pub began: SystemTime,
    pub cluster: String,
    pub operator: Operator,
    pub build: Build,
    /// What was printed during the last build.
    pub output: VecDeque<String>,
    /// The last message about progress.
    pub progress: String,
    pub kinds: BTreeMap<String, Kind>,
    /// The newest is the last one.
    pub events: VecDeque<Event>,
    /// Errors and warnings since the operator was started, with their times. The newest is the last one.
    pub problems: VecDeque<(SystemTime, String)>,
    /// Whether the last line of the log belonged to a problem.
    continues: bool,
    pub log: VecDeque<String>,
    pub page: Page,
    /// Only lines, objects and events with this text are shown.
    pub filter: String,
    /// Whether keys change the filter.
    pub typing: bool,
    /// How many rows the page is scrolled up from its end.
    pub scrolled: usize,
    /// Whether kbr is shutting down.
    pub stopping: bool,
    /// The columns and rows of the screen that a page fills.
    pub size: (usize, usize),
}

impl State {
    pub fn new(project: &str, began: SystemTime) -> Self {
        Self {
            project: project.to_owned(),
            began,
            cluster: String::new(),
            operator: Operator::default(),
            build: Build::default(),
            output: VecDeque::new(),
            progress: String::new(),
            kinds: BTreeMap::new(),
            events: VecDeque::new(),
            problems: VecDeque::new(),
            continues: false,
            log: VecDeque::new(),
            page: Page::default(),
            filter: String::new(),
            typing: false,
            scrolled: 0,
            stopping: false,
            size: (80, 20),
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
            Update::Operator(operator) => {
                if matches!(operator, Operator::Running(_)) {
                    self.problems.clear();
                }
                self.operator = operator;
            }
            Update::Message(text) => self.message(&plain(&text), now),
            Update::Printed(line) => self.printed(&plain(&line)),
            Update::Log(line) => {
                let line = plain(&line);
                if is_problem(&line) {
                    self.problem(now, &line);
                    self.continues = true;
                } else {
                    self.continue_problem(&line);
                }
                self.line(line);
            }
            Update::Listing { kind } => drop(self.kinds.insert(kind, Kind::default())),
            Update::Object { kind, object } => {
                let objects = &mut self.kinds.entry(kind).or_default().objects;
                objects.insert(object.name.clone(), object);
            }
            Update::Gone { kind, name } => {
                if let Some(kind) = self.kinds.get_mut(&kind) {
                    kind.objects.remove(&name);
                }
            }
            Update::Unreadable { kind, reason } => {
                self.kinds.entry(kind).or_default().problem = Some(reason);
            }
            Update::Forgotten { kind } => drop(self.kinds.remove(&kind)),
            Update::Event(event) => {
                // The next watch begins with the known events, in any order.
                self.events.retain(|known| known.uid != event.uid);
                let at = self.events.partition_point(|it| it.time <= event.time);
                self.events.insert(at, event);
                if self.events.len() > EVENTS {
                    self.events.pop_front();
                }
            }
        }
    }

    /// A message of kbr, of one or more lines.
    fn message(&mut self, text: &str, now: SystemTime) {
        if text.starts_with("error: ") || text.starts_with("warning: ") {
            self.problem(now, text.trim_end());
        }
        // Reports of progress are indented; the line to type in another terminal has a place of its own.
        if text.starts_with(' ') && !text.trim_start().starts_with("export ") {
            text.trim().clone_into(&mut self.progress);
        }
        self.printed(text);
    }

    fn printed(&mut self, text: &str) {
        for line in text.lines() {
            if matches!(self.build, Build::Running(_)) {
                push(&mut self.output, line.to_owned(), LINES);
            }
            self.line(line.to_owned());
        }
    }

    fn line(&mut self, line: String) {
        // What is on the screen stays there while the log grows.
        if self.page == Page::Log && self.scrolled > 0 && line.contains(&self.filter) {
            self.scrolled += wrapped(&line, self.size.0).count();
        }
        push(&mut self.log, line, LINES);
    }

    /// Adds an error or a warning, or moves a known one to the end.
    fn problem(&mut self, now: SystemTime, text: &str) {
        let message = |text: &str| {
            let (first, rest) = text.split_once(' ').unwrap_or(("", text));
            // A line of the log begins with its time.
            let is_time = first.starts_with(|c: char| c.is_ascii_digit());
            let text = if is_time { rest } else { text };
            text.lines().next().map(str::to_owned)
        };
        let new = message(text);
        self.problems.retain(|(_, known)| message(known) != new);
        push(&mut self.problems, (now, text.to_owned()), EVENTS);
    }

    /// An error has several lines, such as its help: those that do not begin as a record of the log does.
    fn continue_problem(&mut self, line: &str) {
        self.continues &= !line.starts_with(|c: char| c.is_ascii_digit() || c == '{');
        let last = self.problems.back_mut().filter(|_| self.continues);
        if let Some((_, text)) = last.filter(|(_, text)| text.lines().count() < ROWS) {
            *text = format!("{text}\n{line}");
        }
    }

    /// Applies a key. The result is what the session is to do.
    pub fn press(&mut self, key: Key) -> Option<Command> {
        match key {
            Key::Interrupt => self.stopping = true,
            Key::Char(character) if self.typing => self.filter.push(character),
            Key::Backspace if self.typing => drop(self.filter.pop()),
            Key::Enter if self.typing => self.typing = false,
            Key::Escape if self.typing || !self.filter.is_empty() => {
                self.typing = false;
                self.filter.clear();
            }
            Key::Char('q') if self.page == Page::Overview => self.stopping = true,
            Key::Escape | Key::Char('q') => self.open(Page::Overview),
            Key::Char('a') => return Some(Command::ApplySamples),
            Key::Char('d') => return Some(Command::Delete),
            Key::Char('r') => return Some(Command::Restart),
            Key::Char('/') => self.typing = true,
            Key::Char('l') => self.open(Page::Log),
            Key::Char('b') => self.open(Page::Build),
            Key::Scroll(lines) => self.scroll(lines),
            Key::ScrollPages(pages) => self.scroll(pages * self.size.1.cast_signed()),
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

    /// The rows of the page that fit on the screen, and the number of all lines. Long lines fill several rows.
    pub fn visible(&mut self) -> (Vec<&str>, usize) {
        let lines = match self.page {
            Page::Build => &self.output,
            Page::Overview | Page::Log => &self.log,
        };
        let (width, height) = self.size;
        let shown = lines.iter().filter(|line| line.contains(&self.filter));
        let count = shown.clone().count();
        let rows: Vec<&str> = shown.flat_map(|line| wrapped(line, width)).collect();
        self.scrolled = self.scrolled.min(rows.len().saturating_sub(height));
        let end = rows.len() - self.scrolled;
        let start = end.saturating_sub(height);
        (rows[start..end].to_vec(), count)
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
    pub fn first_error(&self) -> Vec<&str> {
        if !matches!(self.build, Build::Done { ok: false, .. }) {
            return Vec::new();
        }
        let lines = self.output.iter().map(String::as_str);
        let error = lines.skip_while(|line| !line.starts_with("error"));
        error.take_while(|line| !line.is_empty()).collect()
    }
}

fn push<T>(lines: &mut VecDeque<T>, line: T, most: usize) {
    lines.push_back(line);
    if lines.len() > most {
        lines.pop_front();
    }
}
