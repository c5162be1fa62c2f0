//! Collects how the answers of both servers differ.

use std::collections::BTreeSet;

use serde_json::Value;

/// The cases in which they differ.
#[derive(Default)]
pub struct Comparison(Vec<String>);

impl Comparison {
    /// Compares the answers to a step of a case, by its index; returns whether they are equal.
    pub fn of_step(&mut self, case: &str, index: usize, real: &Value, fake: &Value) -> bool {
        if real == fake {
            return true;
        }
        let mut list = Vec::new();
        differences(real, fake, "", &mut list);
        let step = index + 1;
        self.0
            .push(format!("{case}, step {step}:\n{}", list.join("\n")));
        false
    }

    /// Panics if any case differs.
    #[track_caller]
    pub fn assert_equal(&self) {
        let count = self.0.len();
        assert!(self.0.is_empty(), "{count} differ:\n{}", self.0.join("\n"));
    }
}

/// The differences between two answers, one a line.
fn differences(real: &Value, fake: &Value, at: &str, list: &mut Vec<String>) {
    match (real, fake) {
        (Value::Object(left), Value::Object(right)) => {
            let names: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for name in names {
                differences(&real[name], &fake[name], &format!("{at}.{name}"), list);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (real, fake)) in left.iter().zip(right).enumerate() {
                differences(real, fake, &format!("{at}[{index}]"), list);
            }
        }
        _ if real != fake => list.push(format!("  {at}: real {real}, fake {fake}")),
        _ => {}
    }
}
