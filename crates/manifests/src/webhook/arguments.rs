//! Reads and validates the arguments of a marker.

use crd_lint::nearest;

use crate::markers::Marker;
use crate::problem::Problem;

/// The arguments of one marker, and the problems found so far.
pub struct Arguments<'a> {
    pub marker: &'a Marker,
    pub problems: Vec<Problem>,
}

impl<'a> Arguments<'a> {
    pub fn new(marker: &'a Marker, known: &[&str]) -> Self {
        let name = &marker.name;
        let unknown = marker
            .arguments
            .iter()
            .filter(|(argument, _)| !known.contains(&argument.as_str()));
        let problem = |(argument, _): &(String, Vec<String>)| {
            let problem = Problem::new(format!(
                "`{argument}` is not an argument of a `{name}` marker"
            ));
            match argument.as_str() {
                "namespaceSelector" | "objectSelector" | "matchConditions" => {
                    problem.help(format!(
                        "write it with the API's field names: ``patch=`{{\"{argument}\": …}}```"
                    ))
                }
                _ => problem.did_you_mean(nearest(argument, known.iter().copied())),
            }
        };
        Self {
            marker,
            problems: unknown.map(problem).collect(),
        }
    }

    pub fn end<T>(self, result: T) -> Result<T, Vec<Problem>> {
        let problems = self.marker.problems(self.problems);
        if problems.is_empty() {
            return Ok(result);
        }
        Err(problems)
    }

    pub fn wrong(&mut self, text: impl std::fmt::Display) {
        self.problems.push(Problem::new(text));
    }

    pub fn list(&self, name: &str) -> Option<&'a [String]> {
        let of = |(argument, values): &'a (String, Vec<String>)| {
            (argument == name).then_some(values.as_slice())
        };
        self.marker.arguments.iter().find_map(of)
    }

    /// A required list without empty values.
    pub fn required_list(&mut self, name: &str) -> &'a [String] {
        let list = self.list(name).unwrap_or_default();
        match list {
            [] => self.wrong(format!("`{name}` is missing")),
            list if list.iter().any(String::is_empty) && name != "groups" => {
                self.wrong(format!("a value of `{name}` is empty"));
            }
            _ => {}
        }
        list
    }

    /// `None` if it is missing, empty, or (a problem) a list.
    pub fn single(&mut self, name: &str) -> Option<String> {
        match self.list(name)? {
            [] => None,
            [value] => Some(value.clone()).filter(|value| !value.is_empty()),
            _ => {
                self.wrong(format!("`{name}` takes one value"));
                None
            }
        }
    }

    pub fn required(&mut self, name: &str) -> String {
        let before = self.problems.len();
        let value = self.single(name);
        if value.is_none() && self.problems.len() == before {
            self.wrong(format!("`{name}` is missing"));
        }
        value.unwrap_or_default()
    }

    pub fn flag(&mut self, name: &str) -> bool {
        match self.required(name).as_str() {
            "true" => true,
            "false" | "" => false,
            other => {
                self.wrong(format!("`{name}` must be `true` or `false`, not `{other}`"));
                false
            }
        }
    }

    pub fn number(&mut self, name: &str) -> Option<i64> {
        let text = self.single(name)?;
        let number = text.parse();
        if number.is_err() {
            self.wrong(format!("`{name}` must be an integer, not `{text}`"));
        }
        number.ok()
    }

    /// One of `values`; case is ignored.
    pub fn choice(&mut self, name: &str, values: &[&str]) -> Option<String> {
        let text = self.single(name)?;
        let found = values
            .iter()
            .find(|value| value.eq_ignore_ascii_case(&text));
        if found.is_none() {
            let problem = Problem::new(format!(
                "`{text}` is not a valid `{name}`: use {}",
                either(values)
            ));
            self.problems.push(problem);
        }
        found.map(|value| (*value).to_owned())
    }
}

fn either(values: &[&str]) -> String {
    let quoted: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
    quoted.join(" or ")
}
