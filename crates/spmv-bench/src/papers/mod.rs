//! What the papers state, beside which ours stands.

pub(crate) mod numbers;
