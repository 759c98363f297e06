//! What a check of one matrix says.

/// Dirty tiles that a run saw, or what was wrong.
pub type Check = Result<u32, String>;

/// The same, or nothing for a matrix that the algorithm's layout refuses.
pub type Checked = Result<Option<u32>, String>;
