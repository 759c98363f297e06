//! Operations on vectors in a queue, against loops over the same numbers.

use libtest_mimic::Trial;
use num_traits::Float as _;
use spmv_backend::{Backend, DeviceCaps};
use spmv_core::{Accum, Csr, Dtype, Value as _};
pub(crate) use spmv_core::{c32, c64};
use spmv_exec::{Algorithm, Device, Error, Fixup, Options, Queue};

use crate::check::{nan, number};
use crate::corpus::of_lengths;
use crate::faults::{Faults, Verb};
use crate::outcome::Check;
use crate::probe::Probe;
use crate::watch::{Opened, Watch};
use crate::{can, is_full, is_repaired, speculative, trial};

/// Lengths on either side of a lane, a group and a task, as many as buffers hold.
const LENGTHS: [usize; 9] = [0, 1, 2, 31, 64, 65, 257, 5_000, 70_001];

/// A trial of each check for each type in [`types`].
macro_rules! of_sums {
    ($label:expr, $device:expr, $backend:ident: $($name:ident)*) => {{
        let (label, device): (&str, &Device<$backend>) = ($label, $device);
        let of_type = |dtype| [$({
            let device = device.clone();
            let check: Box<dyn Fn() -> Check + Send> = match dtype {
                Dtype::F64 => Box::new(move || $name::<$backend, f64>(&device)),
                Dtype::C32 => Box::new(move || $name::<$backend, $crate::vectors::c32>(&device)),
                Dtype::C64 => Box::new(move || $name::<$backend, $crate::vectors::c64>(&device)),
                _ => Box::new(move || $name::<$backend, f32>(&device)),
            };
            trial(format!("{label}/vectors/{dtype}/{}", stringify!($name)), check)
        }),*];
        $crate::vectors::types(device.caps()).flat_map(of_type).collect::<Vec<Trial>>()
    }};
}

pub(crate) use of_sums;

/// Types of sums that the device has; by default the wider of the complex ones alone, whose kernels differ in nothing but their arithmetic.
pub(crate) fn types(caps: &DeviceCaps) -> impl Iterator<Item = Dtype> {
    let has = caps.arithmetic;
    let is_tried = move |dtype: &Dtype| *dtype != Dtype::C32 || !has.contains(Dtype::C64) || is_full();
    Dtype::ALL
        .into_iter()
        .filter(|dtype| dtype.accum() == *dtype)
        .filter(move |dtype| has.contains(*dtype))
        .filter(is_tried)
}

/// Trials of a variant, for each type of sums that the device has.
pub(crate) fn trials<B: Backend>(label: &str, device: &Device<B>) -> Vec<Trial> {
    of_sums!(label, device, B: sums several_types factors programs roots one_launch special_values same_bits many_in_order several_queues products
        recordings verbs refusals)
}

pub(crate) fn text(e: Error) -> String {
    e.to_string()
}

fn int<A: Accum>(value: i64) -> A {
    A::from_f64(value as f64)
}

/// Small integers, so that sums are exact in any order.
pub(crate) fn numbers<A: Accum>(n: usize, seed: usize) -> Vec<A> {
    (0..n).map(|i| number((((i * 7 + seed * 3) % 11) as i64 - 5) as f64)).collect()
}

fn lengths<B: Backend, A: Accum>(device: &Device<B>) -> impl Iterator<Item = usize> {
    let most = device.caps().max_buffer_bytes / A::DTYPE.bytes() as u64;
    LENGTHS.into_iter().filter(move |n| *n as u64 <= most)
}

pub(crate) fn expect<A: PartialEq + std::fmt::Debug>(
    what: &str,
    n: usize,
    found: &[A],
    expected: &[A],
) -> Result<(), String> {
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None if found.len() == expected.len() => Ok(()),
        None => Err(format!("{what} of {n}: {} values", found.len())),
        Some(at) => Err(format!("{what} of {n}: {:?} at {at}, not {:?}", found[at], expected[at])),
    }
}

/// Within what OpenCL allows of quotients and roots: 3 units in the last position.
fn close<A: Accum>(found: A, expected: A) -> Result<(), String> {
    let most = 6.0 * A::UNIT_ROUNDOFF * expected.modulus().widen();
    if (found - expected).modulus().widen() <= most {
        Ok(())
    } else {
        Err(format!("{found}, not {expected}"))
    }
}

fn sums<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queue = device.queue().map_err(text)?;
    let (s, t) = (queue.scalar::<A>().map_err(text)?, queue.scalar::<A>().map_err(text)?);
    let mut n_checked = 0;
    for n in lengths::<B, A>(device) {
        let (x, d, old) = (numbers::<A>(n, 1), numbers::<A>(n, 2), numbers::<A>(n, 5));
        let upload = |values: &[A]| device.upload(values).map_err(text);
        let (on_x, on_d, mut y) = (upload(&x)?, upload(&d)?, upload(&old)?);
        let (two, three) = (int::<A>(2), int::<A>(-3));
        queue.dot(&on_x, &on_d, s).map_err(text)?;
        let total = |a: &[A], b: &[A]| a.iter().zip(b).fold(A::zero(), |sum, (a, b)| sum + a.conj() * *b);
        expect("dot", n, &[queue.read_scalar(s).map_err(text)?], &[total(&x, &d)])?;
        queue.norm_inf(&on_x, s).map_err(text)?;
        let most = x.iter().map(|x| x.modulus().widen()).fold(0.0, f64::max);
        close(queue.read_scalar(s).map_err(text)?, A::from_f64(most))
            .map_err(|e| format!("norm_inf of {n}: {e}"))?;
        queue.axpby_dot(two, &on_x, three, &mut y, t).map_err(text)?;
        let mut now: Vec<A> = x.iter().zip(&old).map(|(x, y)| two * *x + three * *y).collect();
        expect("axpby", n, &y.to_vec().map_err(text)?, &now)?;
        expect("its dot", n, &[queue.read_scalar(t).map_err(text)?], &[total(&now, &now)])?;
        queue.hadamard_dot(A::one(), &on_d, &on_x, two, &mut y, &on_x, t).map_err(text)?;
        now.iter_mut().zip(x.iter().zip(&d)).for_each(|(y, (x, d))| *y = *d * *x + two * *y);
        expect("hadamard", n, &y.to_vec().map_err(text)?, &now)?;
        expect("its dot", n, &[queue.read_scalar(t).map_err(text)?], &[total(&now, &x)])?;
        queue.scale(three, &mut y).map_err(text)?;
        now.iter_mut().for_each(|y| *y = three * *y);
        expect("scale", n, &y.to_vec().map_err(text)?, &now)?;
        queue.copy(&on_d, &mut y).map_err(text)?;
        expect("copy", n, &y.to_vec().map_err(text)?, &d)?;
        queue.fill(two, &mut y).map_err(text)?;
        y.with(|y| expect("fill", n, y, &vec![two; n])).map_err(text)??;
        let mut direction = upload(&old)?;
        queue.axpy_aypx(two, &mut y, &on_x, three, &mut direction).map_err(text)?;
        let step: Vec<A> = old.iter().map(|old| two * *old + two).collect();
        expect("axpy", n, &y.to_vec().map_err(text)?, &step)?;
        let next: Vec<A> = x.iter().zip(&old).map(|(x, old)| *x + three * *old).collect();
        expect("aypx", n, &direction.to_vec().map_err(text)?, &next)?;
        // Factors of zero read nothing.
        queue.fill(nan::<A>(), &mut direction).map_err(text)?;
        queue.axpy_aypx(A::zero(), &mut y, &on_d, A::zero(), &mut direction).map_err(text)?;
        expect("axpy by zero", n, &y.to_vec().map_err(text)?, &step)?;
        expect("aypx by zero", n, &direction.to_vec().map_err(text)?, &d)?;
        n_checked += 1;
    }
    Ok(n_checked)
}

/// Operations on another type in the same queue.
fn several_types<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queue = device.queue().map_err(text)?;
    let (x, ones) =
        (device.upload(&numbers::<A>(70, 1)).map_err(text)?, device.upload(&[1.0_f32; 70]).map_err(text)?);
    let expected = numbers::<A>(70, 1).iter().fold(A::zero(), |sum, x| sum + x.conj() * *x);
    let (s, t) = (queue.scalar::<A>().map_err(text)?, queue.scalar::<f32>().map_err(text)?);
    for _ in 0..2 {
        queue.dot(&ones, &ones, t).map_err(text)?;
        queue.dot(&x, &x, s).map_err(text)?;
        expect("dot", 70, &[queue.read_scalar(t).map_err(text)?], &[70.0])?;
        expect("dot of another type", 70, &[queue.read_scalar(s).map_err(text)?], &[expected])?;
    }
    Ok(1)
}

/// Quotients of scalars that the host never sees.
fn factors<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queue = device.queue().map_err(text)?;
    let (six, three) = (queue.scalar::<A>().map_err(text)?, queue.scalar::<A>().map_err(text)?);
    let x = device.upload(&numbers::<A>(50, 1)).map_err(text)?;
    let mut y = device.upload(&numbers::<A>(50, 2)).map_err(text)?;
    queue.write_scalar(int(6), six).map_err(text)?;
    queue.write_scalar(int(3), three).map_err(text)?;
    queue.axpby(-six.over(three), &x, three, &mut y).map_err(text)?;
    let now = numbers::<A>(50, 1).into_iter().zip(numbers::<A>(50, 2));
    let now: Vec<A> = now.map(|(x, y)| int::<A>(-2) * x + int::<A>(3) * y).collect();
    expect("factors", 50, &y.to_vec().map_err(text)?, &now)?;
    // A quotient with a zero is zero.
    let [none, nor] = [queue.scalar::<A>().map_err(text)?, queue.scalar::<A>().map_err(text)?];
    queue.axpby(none.over(nor), &x, A::one(), &mut y).map_err(text)?;
    queue.axpby(six.over(nor), &x, A::one(), &mut y).map_err(text)?;
    expect("a quotient with a zero", 50, &y.to_vec().map_err(text)?, &now)?;
    Ok(1)
}

/// Every operation on scalars, on small integers, which are exact; quotients and roots within what OpenCL allows (2.5 and 3 units in
/// the last position). Then many steps that need each other's results, among operations on vectors.
fn programs<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queue = device.queue().map_err(text)?;
    let s: Vec<_> = (0..14).map(|_| queue.scalar::<A>()).collect::<Result<_, _>>().map_err(text)?;
    let (a, b, none) = (s[0], s[1], s[2]);
    queue.write_scalar(int(-6), a).map_err(text)?;
    queue.write_scalar(int(4), b).map_err(text)?;
    let steps = [
        s[3].set(a),
        s[4].set(a + b),
        s[5].set(a - b),
        s[6].set(a * b),
        s[7].set(a.abs()),
        s[8].set(a.greater(b)),
        s[9].set(a.lesser(b)),
        s[10].set(b.sqrt()),
        s[11].set(a / b),
        // A quotient with a zero is zero.
        s[12].set(a / none),
        s[13].set(none / b),
    ];
    let program = queue.program(&steps).map_err(text)?;
    queue.compute(program).map_err(text)?;
    let mut found = vec![A::zero(); s.len()];
    queue.read_scalars(&s, &mut found).map_err(text)?;
    let exact = [-6, 4, 0, -6, -2, -10, -24, 6, 4, -6].map(int::<A>);
    expect("operations", s.len(), &found[..10], &exact)?;
    for (found, expected) in [(found[10], int::<A>(2)), (found[11], A::from_f64(-1.5))] {
        close(found, expected)?;
    }
    expect("quotients with a zero", 2, &found[12..], &[A::zero(); 2])?;
    // Each time: a <- a + b for 8 steps, then y <- y + a.
    queue.write_scalar(A::zero(), a).map_err(text)?;
    let (one, mut y) = (device.upload(&[A::one(); 20]).map_err(text)?, device.zeros::<A>(20).map_err(text)?);
    let program = queue.program(&[a.set(a + b); 8]).map_err(text)?;
    for _ in 0..10 {
        queue.compute(program).map_err(text)?;
        queue.axpby(a, &one, A::one(), &mut y).map_err(text)?;
    }
    expect("programs in order", 20, &y.to_vec().map_err(text)?, &[int(32 * 55); 20])?;
    let empty = queue.program::<A>(&[]).map_err(text)?;
    queue.compute(empty).map_err(text)?;
    let mut other = device.queue().map_err(text)?;
    match (other.program(&steps), other.compute(program)) {
        (Err(Error::Foreign { .. }), Err(Error::Foreign { .. })) => Ok(1),
        refused => Err(format!("a program of another queue: {refused:?}")),
    }
}

/// Roots, also of complex numbers next to the real axis, whose moduli rounding makes less than their real parts.
fn roots<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queue = device.queue().map_err(text)?;
    let (a, root) = (queue.scalar::<A>().map_err(text)?, queue.scalar::<A>().map_err(text)?);
    let program = queue.program(&[root.set(a.sqrt())]).map_err(text)?;
    let is_complex = A::DTYPE.is_complex();
    let reals = (1..20).map(|i| f64::from(i * i) * 0.37);
    let turned = [0.0, 1e-30, -1e-7, 1e-3, -1.0];
    let squares =
        reals.flat_map(|re| turned[..if is_complex { 5 } else { 1 }].iter().map(move |by| [re, re * by]));
    let squares: Vec<A> = squares.map(A::from_parts).chain([A::zero()]).collect();
    let left = squares.iter().map(|square| -*square).filter(|_| is_complex);
    for square in squares.iter().copied().chain(left) {
        queue.write_scalar(square, a).map_err(text)?;
        queue.compute(program).map_err(text)?;
        let found = queue.read_scalar(root).map_err(text)?;
        let most = 16.0 * A::UNIT_ROUNDOFF * square.modulus().widen();
        if (found * found - square).modulus().widen() <= most && found.re() >= A::zero().re() {
            continue;
        }
        return Err(format!("the root of {square}: {found}"));
    }
    Ok(1)
}

/// A program that is there calls one verb, a launch: it neither waits nor allocates. It writes scalars and nothing else.
fn one_launch<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let opened = Opened::new(device).map_err(|e| e.to_string())?;
    let watch = Watch::new(&opened, Faults::default());
    let probed = Device::new(Probe::new(&watch)).map_err(text)?;
    let mut queue = probed.queue().map_err(text)?;
    let (a, b) = (queue.scalar::<A>().map_err(text)?, queue.scalar::<A>().map_err(text)?);
    queue.write_scalar(int(3), b).map_err(text)?;
    let program = queue.program(&[a.set(a + b), a.set(a * b)]).map_err(text)?;
    let before = watch.faults.calls();
    queue.compute(program).map_err(text)?;
    if watch.faults.calls() != before + 1 {
        return Err(format!("{} verbs for a program", watch.faults.calls() - before));
    }
    expect("a program", 1, &[queue.read_scalar(a).map_err(text)?], &[int(9)])?;
    watch.check()?;
    Ok(1)
}

/// As in BLAS, a factor of zero does not read what it scales.
fn special_values<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queue = device.queue().map_err(text)?;
    let nans = device.upload(&[nan(); 40]).map_err(text)?;
    let mut y = device.upload(&[nan(); 40]).map_err(text)?;
    let x = device.upload(&numbers::<A>(40, 3)).map_err(text)?;
    queue.axpby(A::one(), &x, A::zero(), &mut y).map_err(text)?;
    expect("beta 0", 40, &y.to_vec().map_err(text)?, &numbers(40, 3))?;
    queue.axpby(A::zero(), &nans, A::one(), &mut y).map_err(text)?;
    expect("alpha 0", 40, &y.to_vec().map_err(text)?, &numbers(40, 3))?;
    let s = queue.scalar::<A>().map_err(text)?;
    let product = queue.program(&[s.set(s * s)]).map_err(text)?;
    queue.dot(&nans, &x, s).map_err(text)?;
    queue.compute(product).map_err(text)?;
    let sum = queue.read_scalar(s).map_err(text)?;
    if sum.re().is_nan() { Ok(1) } else { Err(format!("a sum with NaN is {sum}")) }
}

/// Numbers whose sum depends on the order, summed again and again, by other queues too.
fn same_bits<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let n = lengths::<B, A>(device).last().unwrap_or(1);
    let x: Vec<A> = (0..n).map(|i| A::from_f64(1.0 / (1 + i * 37 % 1009) as f64)).collect();
    let x = device.upload(&x).map_err(text)?;
    let mut first = None;
    for _ in 0..3 {
        let mut queue = device.queue().map_err(text)?;
        let s = queue.scalar::<A>().map_err(text)?;
        for _ in 0..5 {
            queue.dot(&x, &x, s).map_err(text)?;
            let sum = queue.read_scalar(s).map_err(text)?.widen();
            if *first.get_or_insert(sum) != sum {
                return Err(format!("{sum} after {first:?}"));
            }
        }
    }
    Ok(1)
}

/// Operations that need each other's results, and a read of the last one without a wait.
fn many_in_order<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queue = device.queue().map_err(text)?;
    let n = lengths::<B, A>(device).filter(|n| *n <= 5_000).last().unwrap_or(1);
    let one = device.upload(&vec![A::one(); n]).map_err(text)?;
    let (mut a, mut b) = (device.zeros::<A>(n).map_err(text)?, device.zeros::<A>(n).map_err(text)?);
    for _ in 0..200 {
        queue.axpby(A::one(), &one, A::one(), &mut a).map_err(text)?;
        queue.axpby(A::one(), &a, A::zero(), &mut b).map_err(text)?;
        queue.axpby(A::one(), &one, A::one(), &mut b).map_err(text)?;
        queue.copy(&b, &mut a).map_err(text)?;
    }
    expect("many", n, &a.to_vec().map_err(text)?, &vec![int(400); n])?;
    // The vector is written while the queue might still read it.
    queue.copy(&a, &mut b).map_err(text)?;
    a.write(&vec![A::zero(); n]).map_err(text)?;
    expect("overwritten", n, &b.to_vec().map_err(text)?, &vec![int(400); n])?;
    // Memory of what is dropped may be used again.
    queue.copy(&b, &mut a).map_err(text)?;
    drop(b);
    queue.wait().map_err(text)?;
    expect("dropped", n, &a.to_vec().map_err(text)?, &vec![int(400); n])?;
    Ok(1)
}

/// A vector that goes from queue to queue.
fn several_queues<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queues = [device.queue().map_err(text)?, device.queue().map_err(text)?];
    let one = device.upload(&[A::one(); 60]).map_err(text)?;
    let mut y = device.zeros::<A>(60).map_err(text)?;
    for turn in 0..40 {
        queues[turn % 2].axpby(A::one(), &one, A::one(), &mut y).map_err(text)?;
    }
    expect("two queues", 60, &y.to_vec().map_err(text)?, &[int(40); 60])?;
    let foreign = queues[0].scalar::<A>().map_err(text)?;
    match queues[1].dot(&one, &one, foreign) {
        Err(Error::Foreign { .. }) => Ok(1),
        other => Err(format!("a scalar of another queue: {other:?}")),
    }
}

/// Products among operations on vectors, wherever their sums are repaired.
fn products<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let lens: Vec<usize> = (0..50).map(|row| [3, 0, 4, 1][row % 4]).collect();
    let a: Csr<A> = of_lengths(&lens, 50).map_values(|v| number(v.signum()));
    let mut n_checked = 0;
    let fixed = [Fixup::Host, Fixup::Device].map(|fixup| (speculative(), fixup));
    for (algorithm, fixup) in fixed.into_iter().chain([(Algorithm::Auto, Fixup::Auto)]) {
        let options = Options { algorithm, fixup, ..Options::default() };
        if can(device, A::DTYPE, &options).is_err() {
            continue;
        }
        let prepared = device.prepare(a.view(), &options).map_err(text)?;
        let mut queue = device.queue().map_err(text)?;
        let s = queue.scalar::<A>().map_err(text)?;
        let mut x: Vec<A> = numbers(50, 4);
        let mut on_x = device.upload(&x).map_err(text)?;
        let mut y = device.upload(&[nan(); 50]).map_err(text)?;
        let reference = |x: &[A]| -> Vec<A> {
            let row = |row| a.row(row).fold(A::zero(), |sum, (col, v): (u32, A)| sum + v * x[col as usize]);
            (0..50).map(row).collect()
        };
        for _ in 0..4 {
            queue.apply(&prepared, A::one(), &on_x, A::zero(), &mut y).map_err(text)?;
            queue.norm_inf(&y, s).map_err(text)?;
            // Numbers stay small: modest multiples of what they were.
            queue.axpby(A::one(), &y, int::<A>(-1), &mut on_x).map_err(text)?;
            let now = reference(&x);
            x.iter_mut().zip(&now).for_each(|(x, y)| *x = *y - *x);
        }
        expect("x", 50, &on_x.to_vec().map_err(text)?, &x)?;
        if algorithm == speculative() && !is_repaired(prepared.plan().algorithm) {
            return Err("nothing is repaired".into());
        }
        n_checked += 1;
    }
    Ok(n_checked)
}

/// Operations that start together, the same and others in turn; what uses their vectors meanwhile, and what is gone before they start.
fn recordings<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let a: Csr<A> = of_lengths(&[1, 0, 2, 3, 1], 5).map_values(|_| A::one());
    let mut n_checked = 0;
    for fixup in [Fixup::Host, Fixup::Device] {
        let options = Options { algorithm: speculative(), fixup, ..Options::default() };
        if can(device, A::DTYPE, &options).is_err() {
            continue;
        }
        let mut queue = device.queue().map_err(text)?;
        let s = queue.scalar::<A>().map_err(text)?;
        let mut x = device.upload(&[A::one(); 5]).map_err(text)?;
        let mut y = device.upload(&[nan(); 5]).map_err(text)?;
        let mut sums: Vec<A> = vec![A::one(); 5];
        for turn in 0..7 {
            // One that a recording is not made of again.
            let once = device.upload(&[int::<A>(turn); 5]).map_err(text)?;
            let others = device.prepare(a.view(), &options).map_err(text)?;
            let mut foreign = Ok(vec![]);
            let recorded = queue.record(|queue| {
                queue.apply(&others, A::one(), &x, A::zero(), &mut y)?;
                queue.record(|queue| queue.axpby(A::one(), &once, A::one(), &mut y))?;
                queue.norm_inf(&y, s)?;
                if turn % 3 == 1 {
                    queue.scale(int::<A>(2), &mut y)?;
                }
                foreign = y.to_vec();
                if turn == 5 {
                    queue.wait()?;
                    foreign = y.to_vec();
                }
                queue.copy(&y, &mut x)?;
                drop((once, others));
                if turn == 6 { queue.copy(&x, &mut device.zeros(4)?) } else { Ok(()) }
            });
            let row = |row| a.row(row).fold(A::zero(), |sum, (col, _)| sum + sums[col as usize]);
            let now = (0..5).map(row).map(|sum| sum + int(turn));
            sums = now.map(|y| if turn % 3 == 1 { y * int(2) } else { y }).collect();
            match (recorded, turn) {
                (Ok(()), _) if turn != 6 => {}
                (Err(Error::Length { .. }), 6) => {}
                (other, _) => return Err(format!("recording {turn}: {other:?}")),
            }
            match foreign {
                Err(Error::Recorded) if turn != 5 => {}
                Ok(now) if now == sums => {}
                other => return Err(format!("a vector in recording {turn}: {other:?}")),
            }
            expect("what was recorded", 5, &x.to_vec().map_err(text)?, &sums)?;
            // What was recorded before a panic is started too, and the queue goes on.
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _ = queue.record(|queue| {
                    queue.scale(int::<A>(3), &mut x)?;
                    std::panic::resume_unwind(Box::new(()));
                    #[allow(unreachable_code)]
                    Ok::<(), Error>(())
                });
            }));
            let thrice: Vec<A> = sums.iter().map(|sum| int::<A>(3) * *sum).collect();
            expect("before a panic", 5, &x.to_vec().map_err(text)?, &thrice)?;
            if panicked.is_ok() {
                return Err("no panic".into());
            }
            // Keeps numbers small.
            sums.iter_mut().for_each(|sum| *sum = A::one());
            x.write(&sums).map_err(text)?;
            n_checked += 1;
        }
    }
    Ok(n_checked)
}

/// What iterations of conjugate gradients ask of a device: launches alone, or what was recorded; nothing waits or is copied, unless the
/// host repairs.
fn verbs<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let a: Csr<A> = of_lengths(&[1, 0, 2, 3, 1], 5).map_values(|_| A::one());
    let mut n_checked = 0;
    for (fixup, is_recorded) in [(Fixup::Device, false), (Fixup::Device, true), (Fixup::Host, true)] {
        let options = Options { algorithm: speculative(), fixup, ..Options::default() };
        if can(device, A::DTYPE, &options).is_err() {
            continue;
        }
        let watch = Watch::new(&Opened::new(device).map_err(|e| e.to_string())?, Faults::default());
        let device = Device::new(Probe::new(&watch)).map_err(text)?;
        let a = device.prepare(a.view(), &options).map_err(text)?;
        let mut queue = device.queue().map_err(text)?;
        let [p_ap, old, new] = [queue.scalar::<A>(), queue.scalar(), queue.scalar()];
        let (p_ap, old, new) = (p_ap.map_err(text)?, old.map_err(text)?, new.map_err(text)?);
        let [x, r, p, ap] = [(); 4].map(|()| device.upload(&[A::one(); 5]));
        let (mut x, mut r) = (x.map_err(text)?, r.map_err(text)?);
        let (mut p, mut ap) = (p.map_err(text)?, ap.map_err(text)?);
        let mut iterate = || {
            let mut work = |queue: &mut Queue<Probe<B>>| {
                queue.apply(&a, A::one(), &p, A::zero(), &mut ap)?;
                queue.dot(&p, &ap, p_ap)?;
                queue.axpby(old.over(p_ap), &p, A::one(), &mut x)?;
                queue.axpby_dot(-old.over(p_ap), &ap, A::one(), &mut r, new)?;
                queue.axpby(A::one(), &r, new.over(old), &mut p)
            };
            if is_recorded { queue.record(work) } else { work(&mut queue) }
        };
        iterate().map_err(text)?;
        let before = watch.faults.of_verbs();
        (0..10).try_for_each(|_| iterate()).map_err(text)?;
        let after = watch.faults.of_verbs();
        for (verb, calls) in after {
            let calls = calls - before.get(&verb).copied().unwrap_or(0);
            let expected = match verb {
                Verb::Launch | Verb::Zero => continue,
                Verb::Replay if is_recorded => 10,
                Verb::Alloc | Verb::OpenStream | Verb::Compile => 0,
                // Carries, dirty tiles and y come to the host and go back.
                _ if fixup == Fixup::Host => continue,
                _ => 0,
            };
            if calls != expected {
                return Err(format!(
                    "{calls} calls of {verb:?} in ten iterations, not {expected}: {fixup:?}"
                ));
            }
        }
        n_checked += 1;
    }
    Ok(n_checked)
}

/// What is refused, and that it leaves the queue as it was.
fn refusals<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let mut queue = device.queue().map_err(text)?;
    let (x, mut y) = (device.upload(&[A::one(); 3]).map_err(text)?, device.zeros::<A>(4).map_err(text)?);
    let s = queue.scalar::<A>().map_err(text)?;
    let refused = [
        queue.axpby(A::one(), &x, A::one(), &mut y),
        queue.dot(&x, &y, s),
        queue.hadamard(A::one(), &x, &x, A::zero(), &mut y),
    ];
    if let Some(other) = refused.iter().find(|r| !matches!(r, Err(Error::Length { .. }))) {
        return Err(format!("{other:?}"));
    }
    while queue.scalar::<A>().is_ok() {}
    queue.dot(&x, &x, s).map_err(text)?;
    expect("dot", 3, &[queue.read_scalar(s).map_err(text)?], &[int(3)])?;
    Ok(1)
}
