//! What an operator's next release would change in a cluster: its objects are cloned, both releases run on the clone, and what the second
//! one changed is the plan.

pub mod cloned;
