//! Solvers on every backend that opens: one program, since each links all of them.

mod complex;
mod krylov;
mod methods;
#[path = "../systems/mod.rs"]
mod systems;
