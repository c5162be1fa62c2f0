//! A set of cases -> the shortest condition over the switches that selects them.

use std::collections::BTreeSet;

/// Cases, each a set of switches that are on: bit `n` of a case is switch `n`.
pub type Cases = BTreeSet<usize>;

/// Switches that must be on or off: bit `n` of `care` says that switch `n` matters, the same bit of `on` which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    care: usize,
    on: usize,
}

impl Term {
    fn selects(self, case: usize) -> bool {
        case & self.care == self.on
    }
}

/// The condition that holds in the cases `on`, and in no other case of `scope`, as an expression of Go's templates.
/// `None` if it holds in all of them.
///
/// The cases outside of `scope` do not occur where the condition stands, so they may go either way.
pub fn condition(on: &Cases, scope: &Cases, switches: &[String]) -> Option<String> {
    if scope.is_subset(on) {
        return None;
    }
    let terms = terms(on, scope, switches.len());
    let text = |term: &Term| all(*term, switches);
    Some(match terms.as_slice() {
        [one] => text(one),
        several => {
            let several: Vec<String> = several.iter().map(|it| in_parentheses(&text(it))).collect();
            format!("or {}", several.join(" "))
        }
    })
}

/// The fewest terms, with the fewest switches first, that together select `on` and nothing else of `scope`.
/// Taking the term that selects most is not always the minimum, but is for the few switches of a chart.
fn terms(on: &Cases, scope: &Cases, switches: usize) -> Vec<Term> {
    let off: Cases = scope.difference(on).copied().collect();
    let matters = matters(on, &off, switches);
    let mut candidates = Vec::new();
    for care in cares(matters) {
        let ways: BTreeSet<usize> = on.iter().map(|case| case & care).collect();
        let terms = ways.into_iter().map(|on| Term { care, on });
        candidates.extend(terms.filter(|term| !off.iter().any(|case| term.selects(*case))));
    }
    candidates.sort_by_key(|term| (term.care.count_ones(), term.care, !term.on));
    let mut left = on.clone();
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let selected = |term: &Term| left.iter().filter(|case| term.selects(**case)).count();
        // The first of those that select most: `max_by_key` would return the last.
        let Some(best) = candidates.iter().rev().max_by_key(|term| selected(term)) else {
            break;
        };
        let best = *best;
        left.retain(|case| !best.selects(*case));
        chosen.push(best);
    }
    chosen
}

/// What a term may look at: all switches that matter, or a few of them. More would be one of too many to try.
fn cares(matters: usize) -> BTreeSet<usize> {
    let most = if matters.count_ones() <= 12 { 4 } else { 2 };
    let bits = (0..usize::BITS).map(|switch| 1_usize << switch);
    let bits: Vec<usize> = bits.filter(|bit| matters & bit != 0).collect();
    let mut cares = BTreeSet::from([0]);
    for _ in 0..most {
        let more = |care: &usize| bits.iter().map(|bit| care | bit).collect::<Vec<_>>();
        let more: Vec<usize> = cares.iter().flat_map(more).collect();
        cares.extend(more);
    }
    cares.insert(matters);
    cares
}

/// The switches on which it depends, as bits: those that alone make a difference, unless there is also a difference without them.
fn matters(on: &Cases, off: &Cases, switches: usize) -> usize {
    let differs = |bit: &usize| on.iter().any(|case| off.contains(&(case ^ bit)));
    let bits: usize = (0..switches)
        .map(|switch| 1 << switch)
        .filter(differs)
        .sum();
    let selected: Cases = on.iter().map(|case| case & bits).collect();
    if off.iter().any(|case| selected.contains(&(case & bits))) {
        (1 << switches) - 1
    } else {
        bits
    }
}

fn all(term: Term, switches: &[String]) -> String {
    let matters = (0..switches.len()).filter(|switch| term.care & (1 << switch) != 0);
    let literals: Vec<String> = matters
        .map(|switch| {
            let value = format!(".Values.{}", switches[switch]);
            if term.on & (1 << switch) == 0 {
                format!("not {value}")
            } else {
                value
            }
        })
        .collect();
    match literals.as_slice() {
        [one] => one.clone(),
        several => {
            let several: Vec<String> = several.iter().map(|it| in_parentheses(it)).collect();
            format!("and {}", several.join(" "))
        }
    }
}

fn in_parentheses(expression: &str) -> String {
    if expression.contains(' ') {
        format!("({expression})")
    } else {
        expression.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(on: impl Fn(usize) -> bool, scope: impl Fn(usize) -> bool, expected: Option<&str>) {
        let switches = ["a", "b", "c"].map(str::to_owned);
        let scope: Cases = (0..8).filter(|case| scope(*case)).collect();
        let on: Cases = scope.iter().copied().filter(|case| on(*case)).collect();
        assert_eq!(condition(&on, &scope, &switches).as_deref(), expected);
    }

    #[test]
    fn one_switch_is_named_alone() {
        check(|case| case & 1 != 0, |_| true, Some(".Values.a"));
        check(|case| case & 4 == 0, |_| true, Some("not .Values.c"));
        check(|_| true, |_| true, None);
    }

    #[test]
    fn several_switches_are_joined() {
        check(
            |case| case & 3 == 3,
            |_| true,
            Some("and .Values.a .Values.b"),
        );
        check(
            |case| case & 3 == 1,
            |_| true,
            Some("and .Values.a (not .Values.b)"),
        );
        check(
            |case| case & 3 != 0,
            |_| true,
            Some("or .Values.a .Values.b"),
        );
        let expected = "or (and (not .Values.a) .Values.b) (and .Values.a (not .Values.b))";
        check(
            |case| (case & 3).is_power_of_two(),
            |_| true,
            Some(expected),
        );
    }

    #[test]
    fn cases_that_do_not_occur_shorten_it() {
        check(
            |case| case & 3 == 3,
            |case| case & 2 != 0,
            Some(".Values.a"),
        );
    }

    #[test]
    fn the_conditions_of_many_switches_are_those_of_the_few_that_matter() {
        let switches: Vec<String> = (0..40).map(|number| format!("s{number}")).collect();
        let bits = || (0..40).map(|number| 1_usize << number);
        // Each alone, each pair, and all.
        let mut scope = Cases::from([0, (1 << 40) - 1]);
        scope.extend(bits().flat_map(|one| bits().map(move |other| one | other)));
        let check = |on: fn(usize) -> bool, expected: &str| {
            let on: Cases = scope.iter().copied().filter(|case| on(*case)).collect();
            let found = condition(&on, &scope, &switches);
            assert_eq!(found.as_deref(), Some(expected));
        };
        check(|case| case & 8 != 0, ".Values.s3");
        check(|case| case & 3 == 3, "and .Values.s0 .Values.s1");
        check(|case| case & 3 != 0, "or .Values.s0 .Values.s1");
        check(|case| case & 3 == 1, "and .Values.s0 (not .Values.s1)");
    }
}
