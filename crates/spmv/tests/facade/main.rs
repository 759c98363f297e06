//! What users call, on every backend that opens: one program, since each links all of them.

mod backends;
mod blocks;
mod errors;
mod mixed;
mod new_user;
mod queue;
mod trials;

use spmv::plan::Algorithm;
use spmv::{BackendKind, Context};

/// The algorithms that a test takes on a device: all on cores, and of the exhaustive suite; elsewhere every third, as the conformance suite of
/// the backend has each in all types, and a compiler would take longest.
fn algorithms_on(context: &Context) -> impl Iterator<Item = Algorithm> + use<> {
    let takes_all = context.backend() == BackendKind::Cpu || spmv_conformance::is_full();
    Algorithm::ALL.iter().copied().step_by(if takes_all { 1 } else { 3 })
}
