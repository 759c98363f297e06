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
#[path = "cases/products.rs"]
mod products;
#[path = "cases/reductions.rs"]
mod reductions;
#[path = "cases/rows.rs"]
mod rows;

use libtest_mimic::{Arguments, Trial};
use spmv_mpi::MpiPeers;

/// What each process of a world does.
type Case = fn(&MpiPeers);

/// Cases that pass in worlds of any size.
const CASES: [(&str, Case); 21] = [
    ("sums_have_the_same_bits_everywhere_and_in_each_run", reductions::sums),
    ("the_greatest_is_nan_where_one_is", reductions::greatest),
    ("all_have_the_error_of_the_first_that_fails", reductions::agreement),
    ("different_sizes_are_the_same_error_everywhere", reductions::disagreement),
    ("ghosts_are_the_values_that_their_owners_sent", exchanges::random_halos),
    ("the_work_is_done_once_whatever_is_exchanged", exchanges::work_is_done_once),
    ("messages_of_several_pieces_arrive_whole", exchanges::long_messages),
    ("other_threads_are_refused", exchanges::other_threads),
    ("messages_move_while_the_work_runs", exchanges::progress),
    ("what_one_sends_and_another_does_not_expect_is_an_error_everywhere", exchanges::unexpected),
    ("files_have_the_rows_that_one_process_reads", rows::files),
    ("broken_files_are_the_error_of_one_process_everywhere", rows::broken_files),
    ("files_that_are_not_the_same_are_an_error_everywhere", rows::files_that_differ),
    ("scattered_rows_are_those_of_the_matrix", rows::scattered),
    ("requests_make_the_halos_of_a_matrix_that_is_cut", rows::requests),
    ("products_of_the_corpus_are_those_of_the_oracle", products::corpus),
    ("blocks_are_multiplied_column_by_column", products::blocks),
    ("solvers_find_what_they_find_in_one_process", products::solvers),
    ("pages_rank_as_they_do_in_one_process", products::pages),
    ("transposes_are_those_of_one_process", products::transposed),
    ("requests_of_what_others_do_not_own_are_an_error_everywhere", rows::strange_requests),
];

fn main() {
    if let Some(child) = launch::Child::of_environment() {
        if child.cases == ends::AFTER_THE_END {
            return ends::after_the_end();
        }
        let case = |name: &str| {
            let mut cases = CASES.iter().chain(&ends::CASES);
            cases.find(|(known, _)| *known == name).expect("a case of this program").1
        };
        return child.run(case);
    }
    let arguments = Arguments::from_args();
    // Of four, which wait for each other on fewer cores, in the full suite.
    let most = if spmv_conformance::is_full() { 4 } else { 3 };
    let mut trials: Vec<Trial> = (1..=most).flat_map(|n| worlds(n, arguments.filter.is_none())).collect();
    trials.extend(ends::trials());
    libtest_mimic::run(&arguments, trials).exit();
}

/// Every case in a world of `n` processes. They are `together` in one unless single ones are asked for: to start a world takes longer
/// than most cases.
fn worlds(n: usize, together: bool) -> Vec<Trial> {
    let names = CASES.map(|(name, _)| name);
    if together {
        let all = move || Ok(launch::passes(&names, n)?);
        return vec![Trial::test(format!("{n}/all_{}_cases_pass", names.len()), all)];
    }
    let one = |name| Trial::test(format!("{n}/{name}"), move || Ok(launch::passes(&[name], n)?));
    names.into_iter().map(one).collect()
}
