//! What users call, on every backend that opens: one program, since each links all of them.

mod backends;
mod blocks;
mod errors;
mod mixed;
mod new_user;
mod queue;
mod trials;
