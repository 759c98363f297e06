//! Worlds of processes: this program starts itself under `mpiexec`, once for each case and number of processes.
//!
//! `MPIEXEC` names another launcher than `mpiexec`. It must be that of the library that this program was built with: others start
//! as many worlds of one process, which is why each process checks the size of its world.

#[path = "cases/ends.rs"]
mod ends;
#[path = "cases/exchanges.rs"]
mod exchanges;
#[path = "cases/launch.rs"]
mod launch;
#[path = "cases/reductions.rs"]
mod reductions;

use libtest_mimic::{Arguments, Trial};
use spmv_mpi::MpiPeers;

/// What each process of a world does.
type Case = fn(&MpiPeers);

/// Cases that pass in worlds of any size.
const CASES: [(&str, Case); 8] = [
    ("sums_have_the_same_bits_everywhere_and_in_each_run", reductions::sums),
    ("the_greatest_is_nan_where_one_is", reductions::greatest),
    ("all_have_the_error_of_the_first_that_fails", reductions::agreement),
    ("different_sizes_are_the_same_error_everywhere", reductions::disagreement),
    ("ghosts_are_the_values_that_their_owners_sent", exchanges::random_halos),
    ("the_work_is_done_once_whatever_is_exchanged", exchanges::work_is_done_once),
    ("messages_move_while_the_work_runs", exchanges::progress),
    ("what_one_sends_and_another_does_not_expect_is_an_error_everywhere", exchanges::unexpected),
];

fn main() {
    if let Some(child) = launch::Child::of_environment() {
        let case = CASES.iter().chain(&ends::CASES).find(|(name, _)| *name == child.case);
        return child.run(case.expect("a case of this program").1);
    }
    let of_size = |n: usize, (name, _): &(&'static str, Case)| {
        let name = *name;
        Trial::test(format!("{n}/{name}"), move || Ok(launch::passes(name, n)?))
    };
    let mut trials: Vec<Trial> =
        (1..=4).flat_map(|n| CASES.iter().map(move |case| of_size(n, case))).collect();
    trials.extend(ends::trials());
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
