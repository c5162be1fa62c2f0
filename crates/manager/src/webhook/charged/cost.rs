//! What values take on the heap, and the charge for it.

use crate::servers::budget::Budget;

/// The bytes that an allocation takes besides its content.
pub(super) const ALLOCATION: usize = 24;

/// The bytes of the first items of a list or a set, if each is small: a node of a set has eleven.
const FEW: usize = 384;

/// Counts bytes that are about to be allocated.
pub(super) fn charge<E: serde::de::Error>(budget: &Budget, bytes: usize) -> Result<(), E> {
    if budget.charge(bytes) {
        return Ok(());
    }
    Err(E::custom(Budget::problem()))
}

/// The bytes that one more item of this size takes in a list or a set of `count`. A list has room for four, and doubles.
pub(super) fn item(size: usize, count: usize) -> usize {
    match count {
        0 => FEW.max(4 * size),
        1..4 => 0,
        _ => 2 * size,
    }
}

/// The bytes that one more name or value of this size takes in a map of `count`. A node of a map has room for eleven.
pub(super) fn entry(size: usize, count: usize) -> usize {
    match count {
        0 => 11 * size,
        1..11 => 0,
        _ => 2 * size,
    }
}
