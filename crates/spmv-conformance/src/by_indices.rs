//! Operations of a queue that go by indices, against loops over the same numbers.

use std::sync::Arc;

use libtest_mimic::Trial;
use spmv_backend::Backend;
use spmv_core::{Accum, Dtype, Value, by_dtype};
use spmv_exec::{Device, Error, Queue};

use crate::check::nan;
use crate::faults::Faults;
use crate::outcome::Check;
use crate::probe::Probe;
use crate::trial;
use crate::vectors::{expect, numbers, of_sums, text};
use crate::watch::{Opened, Watch};

/// Indices and values of the vectors they are of: none, one, on either side of a lane, a group and a task.
const SIZES: [(usize, usize); 14] = [
    (0, 0),
    (0, 67),
    (1, 1),
    (1, 67),
    (2, 3),
    (31, 67),
    (64, 64),
    (65, 67),
    (67, 67),
    (257, 5_000),
    (4_999, 5_000),
    (257, 70_001),
    (9_001, 70_001),
    (70_001, 70_001),
];
/// Values that buffers of 1300 bytes hold.
const FEW: usize = 61;

/// Trials of a variant, for each type that the device stores or computes in.
pub(crate) fn trials<B: Backend>(label: &str, device: &Device<B>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for dtype in Dtype::ALL.into_iter().filter(|d| device.caps().storage.contains(*d)) {
        let device = device.clone();
        let gather = move || by_dtype!(dtype, T => gather::<B, T>(&device));
        trials.push(trial(format!("{label}/vectors/{dtype}/gather"), Box::new(gather)));
    }
    trials
        .extend(of_sums!(label, device, B: scatter_add indices_in_order launches_by_indices indices_refused));
    trials
}

/// Behind canaries.
pub(crate) type Watched<B> = (Arc<Watch<B>>, Device<Probe<B>>);

pub(crate) fn watched<B: Backend>(device: &Device<B>) -> Result<Watched<B>, String> {
    let watch = Watch::new(&Opened::new(device).map_err(|e| e.to_string())?, Faults::default());
    let device = Device::new(Probe::new(&watch)).map_err(text)?;
    Ok((watch, device))
}

/// As many as buffers hold.
fn sizes<B: Backend>(device: &Device<B>, dtype: Dtype) -> impl Iterator<Item = (usize, usize)> {
    // An index takes four bytes.
    let most = device.caps().max_buffer_bytes / dtype.bytes().max(4) as u64;
    SIZES.into_iter().filter(move |(_, len)| *len as u64 <= most)
}

/// Numbers without a pattern, below `most`.
fn draws(n: usize, most: usize, seed: usize) -> impl Iterator<Item = usize> {
    (0..n as u64).map(move |i| {
        let mixed = (i + seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 32) % most as u64) as usize
    })
}

/// So many different numbers below `len`, in no order.
fn different(n: usize, len: usize, seed: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..len as u32).collect();
    for (at, other) in draws(len, len.max(1), seed).enumerate() {
        all.swap(at, other);
    }
    all.truncate(n);
    all
}

/// Values come from wherever indices say, some several times, over whatever was there.
fn gather<B: Backend, T: Value>(device: &Device<B>) -> Check {
    let (watch, device) = watched(device)?;
    let mut queue = device.queue().map_err(text)?;
    let mut n_checked = 0;
    for (n, len) in sizes(&device, T::DTYPE) {
        // Integers that 8 bits of precision hold.
        let x: Vec<T> = (0..len).map(|i| T::from_f64((i % 251) as f64 - 125.0)).collect();
        let at: Vec<u32> = draws(n, len, 3 * n).map(|at| at as u32).collect();
        let indices = device.indices(&at, len).map_err(text)?;
        let from = device.upload(&x).map_err(text)?;
        let mut to = device.upload(&vec![T::from_f64(f64::NAN); n]).map_err(text)?;
        queue.gather(&from, &indices, &mut to).map_err(text)?;
        let expected: Vec<T> = at.iter().map(|at| x[*at as usize]).collect();
        expect("gather", n, &to.to_vec().map_err(text)?, &expected)?;
        watch.check()?;
        n_checked += 1;
    }
    Ok(n_checked)
}

/// Sums are rounded as on the host, and the values between them stay.
fn scatter_add<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let (watch, device) = watched(device)?;
    let mut queue = device.queue().map_err(text)?;
    let mut n_checked = 0;
    for (n, len) in sizes(&device, A::DTYPE) {
        let fractions = |n: usize, seed| -> Vec<A> {
            (0..n).map(|i| A::from_f64(1.0 / (1 + (i * 37 + seed) % 1009) as f64)).collect()
        };
        let (x, mut now) = (fractions(n, 5), fractions(len, 8));
        let at = different(n, len, n);
        let indices = device.indices(&at, len).map_err(text)?;
        if !indices.all_differ() || indices.len() != n {
            return Err(format!("{} different indices of {n}", indices.len()));
        }
        let (on_x, mut y) = (device.upload(&x).map_err(text)?, device.upload(&now).map_err(text)?);
        for _ in 0..2 {
            queue.scatter_add(&on_x, &indices, &mut y).map_err(text)?;
            at.iter().zip(&x).for_each(|(at, x)| now[*at as usize] += *x);
        }
        expect("scatter_add", n, &y.to_vec().map_err(text)?, &now)?;
        watch.check()?;
        n_checked += 1;
    }
    Ok(n_checked)
}

/// Operations that need each other's results, recorded in every other turn, by indices and on vectors that are gone before they are done;
/// then another queue's, and a write of what is still read.
fn indices_in_order<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let (watch, device) = watched(device)?;
    let mut queue = device.queue().map_err(text)?;
    let mut now = numbers::<A>(FEW, 2);
    let mut y = device.upload(&now).map_err(text)?;
    for turn in 0..20 {
        let at = different(20 + turn, FEW, turn);
        let indices = device.indices(&at, FEW).map_err(text)?;
        let mut packed = device.zeros::<A>(at.len()).map_err(text)?;
        let work = |queue: &mut Queue<Probe<B>>| {
            queue.gather(&y, &indices, &mut packed)?;
            queue.scale(A::from_f64(-2.0), &mut packed)?;
            queue.scatter_add(&packed, &indices, &mut y)?;
            drop((indices, packed));
            Ok(())
        };
        let done = if turn % 2 == 0 { queue.record(work) } else { work(&mut queue) };
        done.map_err(text)?;
        at.iter().for_each(|at| now[*at as usize] = -now[*at as usize]);
    }
    let all: Vec<u32> = (0..FEW as u32).rev().collect();
    let reversed = device.indices(&all, FEW).map_err(text)?;
    let mut other = device.queue().map_err(text)?;
    let mut found = device.zeros::<A>(FEW).map_err(text)?;
    other.gather(&y, &reversed, &mut found).map_err(text)?;
    y.write(&[nan(); FEW]).map_err(text)?;
    now.reverse();
    expect("what another queue gathers", FEW, &found.to_vec().map_err(text)?, &now)?;
    watch.check()?;
    Ok(1)
}

/// After the first call of each an operation is one launch, without memory or a wait; by no indices it is none.
fn launches_by_indices<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let (watch, device) = watched(device)?;
    let mut queue = device.queue().map_err(text)?;
    let some = device.indices(&[5, 0, 9], 10).map_err(text)?;
    let none = device.indices(&[], 10).map_err(text)?;
    let mut y = device.zeros::<A>(10).map_err(text)?;
    let (mut x, mut nothing) = (device.zeros::<A>(3).map_err(text)?, device.zeros::<A>(0).map_err(text)?);
    queue.gather(&y, &some, &mut x).map_err(text)?;
    queue.scatter_add(&x, &some, &mut y).map_err(text)?;
    for (what, at, of_at, expected) in
        [("three indices", &some, &mut x, 20), ("no indices", &none, &mut nothing, 0)]
    {
        let before = watch.faults.calls();
        for _ in 0..10 {
            queue.gather(&y, at, of_at).map_err(text)?;
            queue.scatter_add(of_at, at, &mut y).map_err(text)?;
        }
        let calls = watch.faults.calls() - before;
        if calls != expected {
            return Err(format!("{calls} verbs for 20 operations by {what}, not {expected}"));
        }
    }
    watch.check()?;
    Ok(1)
}

/// What is refused, in which words, and that it leaves queue and vectors as they were.
fn indices_refused<B: Backend, A: Accum>(device: &Device<B>) -> Check {
    let (watch, device) = watched(device)?;
    let other = Device::new(Probe::new(&watch)).map_err(text)?;
    for (at, len, expected) in [
        (&[0, 4, 3, 7][..], 4, Error::Index { at: 1, index: 4, len: 4 }),
        (&[0], 0, Error::Index { at: 0, index: 0, len: 0 }),
        (&[u32::MAX], 70_000, Error::Index { at: 0, index: u32::MAX, len: 70_000 }),
    ] {
        match device.indices(at, len) {
            Err(e) if e == expected => {}
            other => return Err(format!("{at:?} of {len}: {other:?}")),
        }
    }
    let mut queue = device.queue().map_err(text)?;
    let ten = numbers::<A>(10, 1);
    let (mut x, mut y) = (device.upload(&ten[..3]).map_err(text)?, device.upload(&ten).map_err(text)?);
    let mut foreign = other.upload(&ten).map_err(text)?;
    let mut foreign_x = other.upload(&ten[..3]).map_err(text)?;
    let at = device.indices(&[7, 2, 4], 10).map_err(text)?;
    let foreign_at = other.indices(&[7, 2, 4], 10).map_err(text)?;
    let too_long = device.upload(&ten[..9]).map_err(text)?;
    let repeated = device.indices(&[7, 2, 7], 10).map_err(text)?;
    let length = |what, found, expected| Error::Length { what, found, expected };
    let belongs = |what| Error::Foreign { what, to: "device" };
    let refused = [
        (queue.gather(&too_long, &at, &mut x), length("from", 9, 10)),
        (queue.gather(&too_long, &at, &mut y), length("from", 9, 10)),
        (queue.gather(&foreign, &at, &mut x), belongs("from")),
        (queue.gather(&y, &at, &mut foreign_x), belongs("to")),
        (queue.gather(&y, &foreign_at, &mut x), belongs("the indices")),
        (queue.scatter_add(&too_long, &at, &mut y), length("x", 9, 3)),
        (queue.scatter_add(&too_long, &at, &mut x), length("x", 9, 3)),
        (queue.scatter_add(&foreign_x, &at, &mut y), belongs("x")),
        (queue.scatter_add(&x, &at, &mut foreign), belongs("y")),
        (queue.scatter_add(&x, &foreign_at, &mut y), belongs("the indices")),
        (queue.scatter_add(&x, &repeated, &mut y), Error::RepeatedIndex { at: 2, first: 0, index: 7 }),
    ];
    for (turn, (refused, expected)) in refused.into_iter().enumerate() {
        if refused.as_ref() != Err(&expected) {
            return Err(format!("refusal {turn}: {refused:?}, not {expected:?}"));
        }
    }
    let mut short = device.zeros::<A>(2).map_err(text)?;
    match (queue.gather(&y, &at, &mut short), queue.scatter_add(&x, &at, &mut short)) {
        (Err(to), Err(y)) if to == length("to", 2, 3) && y == length("y", 2, 10) => {}
        other => return Err(format!("vectors of another length: {other:?}")),
    }
    expect("what was refused", 10, &y.to_vec().map_err(text)?, &ten)?;
    queue.gather(&y, &repeated, &mut x).map_err(text)?;
    expect("repeated indices", 3, &x.to_vec().map_err(text)?, &[7, 2, 7].map(|at: usize| ten[at]))?;
    watch.check()?;
    Ok(1)
}
