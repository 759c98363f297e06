//! Times from which the rates of a device follow, and times that predictions are checked against, in one run.

use anyhow::ensure;
use spmv::{Context, Csr, DeviceKind, DeviceScalar, Matrix, Queue, Vector, plan::Algorithm};
use spmv_partition::PartTraffic;
use spmv_partition::scale::{Arrangement, Machine, product_bytes, staged_bytes, vector_bytes};

use super::super::measure::{Eviction, Run, interleave, timed};
use super::super::report::Cache;
use super::super::stop::Stop;

/// Operations of a run, none of which waits.
const OPERATIONS: usize = 8;
/// Values that each of two parts needs of the other, where bytes per second of an exchange are measured: on a GPU so many that they take
/// longer than the host takes to start what moves them.
const fn exchanged(kind: DeviceKind) -> usize {
    match kind {
        DeviceKind::Cpu => 1 << 16,
        _ => 1 << 22,
    }
}

/// How often a device is named where predictions are checked.
pub(super) const IN_TURN: [usize; 3] = [1, 2, 4];
/// How many devices are one context where predictions are checked, as far as there are as many.
const TOGETHER: [usize; 3] = [2, 4, 8];
/// So small a factor that an iteration repeated for ever changes no magnitude, and so large that nothing underflows.
const TINY: f64 = 1e-30;
/// Bytes of an `f64`.
pub(super) const VALUE_BYTES: u64 = 8;

/// What a context of several devices took, or of one that is named several times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) parts: usize,
    pub(super) arrangement: Arrangement,
    pub(super) algorithm: Algorithm,
    pub(super) product_s: f64,
    pub(super) iteration_s: f64,
}

/// Seconds of one operation each, medians.
#[derive(Clone, Copy, Debug)]
struct Seconds {
    start: f64,
    product: f64,
    vectors: f64,
    /// Two parts, one value each way.
    few: f64,
    /// Two parts, many values each way.
    many: f64,
    /// As both, but no part needs a value of the other.
    few_apart: f64,
    many_apart: f64,
    reduction: f64,
}

/// Times everything in turns, so that noise is the same for all. Some seconds. Rates are those of the first device.
///
/// # Errors
/// If the matrix is too small to be told from the start of an operation, if a device fails, and when stopped.
pub(super) fn measure(
    devices: &[Context],
    (a, options): (&Csr<f64>, &spmv::Options),
    repeat: Option<usize>,
    stop: &Stop,
) -> anyhow::Result<(Machine, Vec<Measured>)> {
    let context = &devices[0];
    let named = |times: usize| Context::devices(&vec![context.clone(); times]);
    let (one, two) = (context.prepare_with(a, options)?, named(2)?);
    let n_many = exchanged(context.caps().kind);
    let in_two = |a: Csr<f64>| two.prepare(&a);
    let (few, many) = (in_two(shifted(1, 1)?)?, in_two(shifted(n_many, n_many)?)?);
    let (few_apart, many_apart) = (in_two(shifted(1, 0)?)?, in_two(shifted(n_many, 0)?)?);
    let in_turn = IN_TURN.map(|times| (Arrangement::InTurn, vec![context.clone(); times]));
    let together = TOGETHER.iter().filter_map(|n| Some((Arrangement::Together, devices.get(..*n)?.to_vec())));
    let checked = in_turn.into_iter().chain(together).map(|(arrangement, devices)| {
        Ok((arrangement, devices.len(), Context::devices(&devices)?.prepare_with(a, options)?))
    });
    let checked = checked.collect::<anyhow::Result<Vec<_>>>()?;
    let mut runs = vec![
        start(context)?,
        product(&one)?,
        iteration(&one, false)?,
        product(&few)?,
        product(&many)?,
        product(&few_apart)?,
        product(&many_apart)?,
        reduction(&two)?,
    ];
    for (.., a) in &checked {
        runs.extend([product(a)?, iteration(a, true)?]);
    }
    let mut measured = || -> anyhow::Result<(Machine, Vec<f64>)> {
        let spreads = interleave(&mut runs, Cache::Warm, repeat, &Eviction::none(), stop)?;
        let seconds: Vec<f64> =
            spreads.iter().map(|spread| spread.median / 1e6 / OPERATIONS as f64).collect();
        let [start, product, vectors, few, many, few_apart, many_apart, reduction] =
            std::array::from_fn(|at| seconds[at]);
        let of_runs = Seconds { start, product, vectors, few, many, few_apart, many_apart, reduction };
        Ok((rates(a, n_many, of_runs)?, seconds))
    };
    // Noise of others can make a difference of two times negative; it rarely does so twice.
    let (rates, seconds) = match measured() {
        Ok(both) => both,
        Err(_) => {
            stop.check()?;
            measured()?
        }
    };
    let checked = checked.iter().zip(seconds[8..].chunks_exact(2)).map(|((arrangement, parts, a), of)| {
        let algorithm = a.plan().algorithm;
        Measured { parts: *parts, arrangement: *arrangement, algorithm, product_s: of[0], iteration_s: of[1] }
    });
    Ok((rates, checked.collect()))
}

/// A value in each row, so many columns further than its own: by `each` every part of two needs every value of the other, and none of its own.
fn shifted(each: usize, by: usize) -> anyhow::Result<Csr<f64>> {
    Ok(Csr::from_rows(2 * each, (0..2 * each).map(|row| [(((row + by) % (2 * each)) as u32, 1.0)]))?)
}

/// Rates that explain the times, without a network. What is too short to be told from noise takes no time.
fn rates(a: &Csr<f64>, n_many: usize, seconds: Seconds) -> anyhow::Result<Machine> {
    let (rows, nonzeros) = (a.n_rows() as u64, a.nnz() as u64);
    let Seconds { start, product, vectors, few, many, few_apart, many_apart, reduction } = seconds;
    let rate = |what: &str, bytes: u64, beyond: f64| {
        ensure!(
            beyond > 0.0,
            "{what} of {rows} rows and {nonzeros} nonzeros takes no longer than its starts, of {:.3} us each: take a larger matrix",
            1e6 * start
        );
        Ok(bytes as f64 / beyond)
    };
    let n = n_many as u64;
    let part = PartTraffic {
        ghosts: n,
        sent: n,
        boundary_rows: n,
        value_bytes: VALUE_BYTES,
        ..PartTraffic::default()
    };
    // What many values take longer than few, less what products of such parts take longer that exchange nothing. These start threads as
    // often, so that a busy machine is no slower at one than at the other.
    let moved = (many - few) - (many_apart - few_apart);
    ensure!(
        moved > 0.0,
        "an exchange of {n} values takes no time ({:.3} us less than nothing): too much else runs here, try again",
        -1e6 * moved
    );
    Ok(Machine {
        product_bytes_s: rate(
            "a product",
            product_bytes(rows, rows, nonzeros, VALUE_BYTES),
            product - start,
        )?,
        vector_bytes_s: rate(
            "an iteration's vectors",
            vector_bytes(rows, VALUE_BYTES),
            vectors - 3.0 * start,
        )?,
        start_s: start,
        // Two parts: gather, the local product, the remote one, and its sums.
        stage_s: (few / 2.0 - 4.0 * start).max(0.0),
        staged_bytes_s: (2 * staged_bytes(&part)) as f64 / moved,
        // Two parts: a scalar product, and the update that needs it.
        read_s: (reduction / 2.0 - 2.0 * start).max(0.0),
        message_s: 0.0,
        link_bytes_s: f64::INFINITY,
        reduction_s: None,
    })
}

/// So many operations of a queue, and a wait.
fn repeated<'a>(mut queue: Queue, mut work: impl FnMut(&mut Queue) -> spmv::Result<()> + 'a) -> Run<'a> {
    timed(move |_| {
        (0..OPERATIONS).try_for_each(|_| work(&mut queue))?;
        Ok(queue.wait()?)
    })
}

/// `y <- x + y` of single values.
fn start<'a>(context: &Context) -> anyhow::Result<Run<'a>> {
    let (x, mut y) = (context.upload(&[1.0])?, context.upload(&[1.0])?);
    Ok(repeated(context.queue()?, move |queue| queue.axpby(TINY, &x, 1.0, &mut y)))
}

fn product(a: &Matrix<f64>) -> anyhow::Result<Run<'_>> {
    let (x, mut y) = (a.context().upload(&vec![1.0; a.n_cols()])?, a.zeros_y()?);
    Ok(repeated(a.context().queue()?, move |queue| queue.apply(a, 1.0, &x, 0.0, &mut y)))
}

/// A sum over parts that the next operation needs, of a value each.
fn reduction<'a>(context: &Context) -> anyhow::Result<Run<'a>> {
    let values = [1.0, 1.0];
    let (x, mut y, mut queue) = (context.upload(&values)?, context.upload(&values)?, context.queue()?);
    let sum = queue.scalar()?;
    Ok(repeated(queue, move |queue| {
        queue.dot(&x, &x, sum)?;
        queue.axpby(TINY, &x, 1.0, &mut y)
    }))
}

/// The operations of an iteration of conjugate gradients, on vectors that stay as large as they are whatever the matrix: a solver would
/// end, or refuse the matrix.
struct Iteration {
    x: Vector<f64>,
    r: Vector<f64>,
    p: Vector<f64>,
    ap: Vector<f64>,
    sums: [DeviceScalar<f64>; 2],
}

impl Iteration {
    fn run(&mut self, queue: &mut Queue, a: Option<&Matrix<f64>>) -> spmv::Result<()> {
        let Self { x, r, p, ap, sums } = self;
        queue.record(|queue| {
            if let Some(a) = a {
                queue.apply(a, 1.0, p, 0.0, ap)?;
            }
            queue.dot(p, ap, sums[0])?;
            queue.axpby_dot(TINY, ap, 1.0, r, sums[1])?;
            queue.axpy_aypx(TINY, x, r, TINY, p)
        })
    }
}

/// All of an iteration, or its vectors alone.
fn iteration(a: &Matrix<f64>, with_product: bool) -> anyhow::Result<Run<'_>> {
    let ones = || a.context().upload(&vec![1.0; a.n_rows()]);
    let (x, r, p, ap, mut queue) = (ones()?, ones()?, ones()?, ones()?, a.context().queue()?);
    let sums = [queue.scalar()?, queue.scalar()?];
    let mut iteration = Iteration { x, r, p, ap, sums };
    Ok(repeated(queue, move |queue| iteration.run(queue, with_product.then_some(a))))
}

#[cfg(test)]
mod tests {
    use spmv_partition::scale::Arrangement;
    use spmv_partition::{Ranges, Traffic, cut};

    use super::*;

    #[test]
    fn rates_give_the_times_back_that_they_are_made_of() {
        let machine = Machine {
            product_bytes_s: 3e9,
            vector_bytes_s: 5e9,
            start_s: 1e-6,
            stage_s: 2e-6,
            staged_bytes_s: 7e8,
            read_s: 4e-6,
            message_s: 0.0,
            link_bytes_s: f64::INFINITY,
            reduction_s: None,
        };
        let a = shifted(3000, 3000).unwrap();
        let times = |a: &Csr<f64>, parts: usize| {
            let ranges = Ranges::by_nonzeros(a.row_ptr(), parts).unwrap();
            machine.times(&Traffic::of(&cut(a.view(), &ranges, &ranges).unwrap()), Arrangement::InTurn)
        };
        let one = times(&a, 1);
        let n_many = exchanged(DeviceKind::Cpu);
        let in_two = |each, by| times(&shifted(each, by).unwrap(), 2).product_s;
        let seconds = Seconds {
            start: machine.start_s,
            product: one.product_s,
            vectors: one.iteration_s - one.product_s - 2.0 * machine.read_s,
            few: in_two(1, 1),
            many: in_two(n_many, n_many),
            few_apart: in_two(1, 0),
            many_apart: in_two(n_many, 0),
            reduction: 2.0 * (2.0 * machine.start_s + machine.read_s),
        };
        let found = rates(&a, n_many, seconds).unwrap();
        let close = |found: f64, expected: f64| (found - expected).abs() < 0.2 * expected;
        assert!((found.product_bytes_s / machine.product_bytes_s - 1.0).abs() < 1e-9);
        assert!((found.vector_bytes_s / machine.vector_bytes_s - 1.0).abs() < 1e-9);
        assert!((found.read_s / machine.read_s - 1.0).abs() < 1e-9);
        // A few bytes of the exchange of one value; row offsets and y are passed over twice in two parts.
        assert!(close(found.stage_s, machine.stage_s), "{}", found.stage_s);
        assert!(close(found.staged_bytes_s, machine.staged_bytes_s), "{}", found.staged_bytes_s);
    }

    #[test]
    fn too_small_a_matrix_is_refused_with_a_way_out() {
        let us = |us: f64| us * 1e-6;
        let seconds = Seconds {
            start: us(2.0),
            product: us(2.0),
            vectors: us(9.0),
            few: us(20.0),
            many: us(900.0),
            few_apart: us(4.0),
            many_apart: us(100.0),
            reduction: us(9.0),
        };
        let refused = rates(&shifted(1, 1).unwrap(), 1, seconds).unwrap_err().to_string();
        assert_eq!(
            refused,
            "a product of 2 rows and 2 nonzeros takes no longer than its starts, of 2.000 us each: take a larger matrix"
        );
        let noisy = Seconds { product: us(5.0), many: us(21.0), ..seconds };
        assert!(rates(&shifted(1, 1).unwrap(), 1, noisy).unwrap_err().to_string().contains("try again"));
    }
}
