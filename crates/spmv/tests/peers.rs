//! Contexts with peers, here in threads of one process: products, sums and conjugate gradients as each process sees them, and what
//! becomes of faults of the transport.

use std::collections::HashMap;
use std::sync::{Arc, Barrier, Mutex};

use spmv::parts::{Exchange, Halo, Part, Peers, PeersError, Ranges, Reduction};
use spmv::{BackendKind, Context, Csr, Error, Options};
use spmv_partition::cut;

/// What all ranks see.
#[derive(Debug)]
struct Shared {
    barrier: Barrier,
    /// Messages by sender and receiver.
    messages: Mutex<HashMap<(usize, usize), Vec<u8>>>,
    numbers: Mutex<Vec<Vec<f64>>>,
}

#[derive(Debug)]
struct Thread {
    rank: usize,
    size: usize,
    shared: Arc<Shared>,
    fault: Fault,
}

/// What is wrong with a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Refuses,
    Fails,
    ForgetsWork,
    WorksTwice,
    TooFewBytes,
    CannotReduce,
}

impl Peers for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, halo: &Halo, value_bytes: usize) -> Result<Box<dyn Exchange>, PeersError> {
        if self.fault == Fault::Refuses {
            return Err(PeersError("no memory for messages".into()));
        }
        // One byte too few is no whole value.
        let less = usize::from(self.fault == Fault::TooFewBytes);
        Ok(Box::new(Messages {
            rank: self.rank,
            shared: Arc::clone(&self.shared),
            halo: halo.clone(),
            value_bytes,
            sent: vec![0.0; halo.n_sent()],
            n_sent_bytes: halo.n_sent() * value_bytes - less,
            ghosts: vec![0.0; halo.n_ghosts()],
            fault: self.fault,
        }))
    }

    fn reduce(&self, op: Reduction, values: &mut [f64]) -> Result<(), PeersError> {
        if self.fault == Fault::CannotReduce {
            return Err(PeersError("rank 1 does not answer".into()));
        }
        self.shared.numbers.lock().unwrap()[self.rank] = values.to_vec();
        self.shared.barrier.wait();
        let all = self.shared.numbers.lock().unwrap().clone();
        for (at, value) in values.iter_mut().enumerate() {
            let of_ranks = all.iter().map(|of_rank| of_rank[at]);
            *value = match op {
                Reduction::Sum => of_ranks.sum(),
                Reduction::Greatest => of_ranks.fold(0.0, f64::max),
            };
        }
        self.shared.barrier.wait();
        Ok(())
    }
}

#[derive(Debug)]
struct Messages {
    rank: usize,
    shared: Arc<Shared>,
    halo: Halo,
    value_bytes: usize,
    sent: Vec<f64>,
    n_sent_bytes: usize,
    ghosts: Vec<f64>,
    fault: Fault,
}

impl Exchange for Messages {
    fn sent(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.sent)[..self.n_sent_bytes]
    }

    fn ghosts(&self) -> &[u8] {
        bytemuck::cast_slice(&self.ghosts)
    }

    fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<(), PeersError> {
        match self.fault {
            Fault::ForgetsWork => return Ok(()),
            Fault::WorksTwice => (0..2).for_each(|_| meanwhile()),
            _ => meanwhile(),
        }
        if self.fault == Fault::Fails {
            return Err(PeersError("rank 1 does not answer".into()));
        }
        let mut at = 0;
        for send in self.halo.sends.clone() {
            let n_bytes = send.values.len() * self.value_bytes;
            let bytes = self.sent()[at..at + n_bytes].to_vec();
            at += n_bytes;
            self.shared.messages.lock().unwrap().insert((self.rank, send.to), bytes);
        }
        self.shared.barrier.wait();
        for receive in &self.halo.receives {
            let bytes = self.shared.messages.lock().unwrap()[&(receive.from, self.rank)].clone();
            let first = receive.ghosts.start * self.value_bytes;
            let ghosts: &mut [u8] = bytemuck::cast_slice_mut(&mut self.ghosts);
            ghosts[first..first + bytes.len()].copy_from_slice(&bytes);
        }
        self.shared.barrier.wait();
        Ok(())
    }
}

/// Does the same in a thread for each rank; results in their order.
fn on_ranks<R: Send>(size: usize, work: impl Fn(Context, usize) -> spmv::Result<R> + Sync) -> Vec<R> {
    let shared = shared(size);
    std::thread::scope(|scope| {
        let rank = |rank| {
            let (shared, work) = (Arc::clone(&shared), &work);
            scope.spawn(move || {
                let peers = Arc::new(Thread { rank, size, shared, fault: Fault::None });
                work(Context::with(BackendKind::Cpu)?.with_peers(peers)?, rank)
            })
        };
        let threads: Vec<_> = (0..size).map(rank).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic").expect("no error")).collect()
    })
}

fn shared(size: usize) -> Arc<Shared> {
    let (barrier, numbers) = (Barrier::new(size), Mutex::new(vec![vec![]; size]));
    Arc::new(Shared { barrier, messages: Mutex::default(), numbers })
}

/// A line of points, and links far away.
fn matrix(n: u32) -> Csr<f64> {
    let near = |i: u32| [i.checked_sub(9), i.checked_sub(1), Some(i + 1), Some(i + 9)];
    let links = |i: u32| near(i).into_iter().flatten().filter(move |j| *j < n).map(move |j| (i, j, -1.0));
    let entries: Vec<_> = (0..n).flat_map(|i| links(i).chain([(i, i, 4.25)])).collect();
    Csr::from_coo(n as usize, n as usize, &entries).unwrap()
}

/// The part of each rank, and what each owns.
fn parts(a: &Csr<f64>, size: usize) -> (Vec<Part<f64>>, Ranges) {
    let ranges = Ranges::by_nonzeros(a.row_ptr(), size).unwrap();
    (cut(a.view(), &ranges, &ranges).unwrap(), ranges)
}

fn own<'v>(ranges: &Ranges, rank: usize, values: &'v [f64]) -> &'v [f64] {
    &values[ranges.range(rank).start as usize..ranges.range(rank).end as usize]
}

#[test]
fn each_process_sees_its_own_rows_of_a_product() {
    let a = matrix(100);
    let x: Vec<f64> = (0..100).map(|i| f64::from(i % 7)).collect();
    let y = Context::with(BackendKind::Cpu).unwrap().prepare(&a).unwrap().multiply(&x).unwrap();
    for size in [1, 2, 3, 5] {
        let (parts, ranges) = parts(&a, size);
        let of_ranks = on_ranks(size, |context, rank| {
            let part = context.prepare_part(parts[rank].clone(), &Options::default())?;
            let (x, mut y) = (context.upload(own(&ranges, rank, &x))?, part.zeros_y()?);
            part.apply(1.0, &x, 0.0, &mut y)?;
            let (local, remote) = (parts[rank].local(), parts[rank].remote());
            assert_eq!((part.n_rows(), part.nnz()), (local.n_rows(), local.nnz() + remote.nnz()));
            y.to_vec()
        });
        // Sums of small integers and quarters are exact.
        assert_eq!(of_ranks.concat(), y, "{size} ranks");
    }
}

#[test]
fn scalar_products_and_norms_are_those_of_all_processes() {
    let x: Vec<f64> = (0..10).map(|i| f64::from(i) - 3.0).collect();
    let ranges = Ranges::new(vec![0, 4, 4, 10]).unwrap();
    let found = on_ranks(3, |context, rank| {
        let x = context.upload(own(&ranges, rank, &x))?;
        let mut q = context.queue()?;
        let (xx, top, root) = (q.scalar()?, q.scalar()?, q.scalar()?);
        let program = q.program(&[root.set(xx.sqrt())])?;
        q.dot(&x, &x, xx)?;
        q.norm_inf(&x, top)?;
        q.compute(program)?;
        let [root, top] = q.read_scalars([root, top])?;
        Ok([x.dot(&x)?, x.norm2()?, x.norm_inf()?, root, top])
    });
    assert_eq!(found, [[105.0, 105f64.sqrt(), 6.0, 105f64.sqrt(), 6.0]; 3]);
}

#[test]
fn conjugate_gradients_take_the_same_steps_in_all_processes() {
    let (a, size) = (matrix(120), 3);
    let (parts, ranges) = parts(&a, size);
    let b: Vec<f64> = (0..120).map(|i| f64::from(i % 5) - 2.0).collect();
    let solve = || {
        on_ranks(size, |context, rank| {
            let a = context.prepare_part(parts[rank].clone(), &Options::default())?;
            let (mut x, mut r) = (a.zeros_x()?, context.upload(own(&ranges, rank, &b))?);
            let (mut p, mut ap) = (r.try_clone()?, a.zeros_y()?);
            let mut q = context.queue()?;
            let (rr, p_ap, rr_new) = (q.scalar()?, q.scalar()?, q.scalar()?);
            let keep = q.program(&[rr.set(rr_new)])?;
            q.dot(&r, &r, rr)?;
            for _ in 0..80 {
                q.apply(&a, 1.0, &p, 0.0, &mut ap)?;
                q.dot(&p, &ap, p_ap)?;
                q.axpby_dot(-rr.over(p_ap), &ap, 1.0, &mut r, rr_new)?;
                q.axpy_aypx(rr.over(p_ap), &mut x, &r, rr_new.over(rr), &mut p)?;
                q.compute(keep)?;
            }
            Ok((x.to_vec()?, q.read_scalar(rr)?))
        })
    };
    let of_ranks = solve();
    assert!(of_ranks.iter().all(|(_, rr)| *rr == of_ranks[0].1 && *rr < 1e-20), "{of_ranks:?}");
    let x: Vec<f64> = of_ranks.iter().flat_map(|(x, _)| x.clone()).collect();
    let left = |i: usize| b[i] - a.row(i).map(|(col, value)| value * x[col as usize]).sum::<f64>();
    assert!((0..120).all(|i| left(i).abs() < 1e-9));
    assert_eq!(solve(), of_ranks, "the second run");
}

/// The first of two ranks alone, with a transport that has a fault.
fn faulty(fault: Fault) -> Context {
    let peers = Thread { rank: 0, size: 2, shared: shared(1), fault };
    Context::with(BackendKind::Cpu).unwrap().with_peers(Arc::new(peers)).unwrap()
}

#[test]
fn a_transport_that_fails_leaves_no_sums_without_those_of_ghosts() {
    let part = || parts(&matrix(40), 2).0.swap_remove(0);
    for (fault, words) in [
        (Fault::Fails, "rank 1 does not answer"),
        (Fault::ForgetsWork, "no work meanwhile"),
        (Fault::TooFewBytes, "no whole values"),
    ] {
        let context = faulty(fault);
        let a = context.prepare_part(part(), &Options::default()).unwrap();
        let (x, mut y) = (a.zeros_x().unwrap(), a.zeros_y().unwrap());
        let e = a.apply(1.0, &x, 0.0, &mut y).unwrap_err();
        assert!(matches!(e, Error::DeviceLost { .. }) && e.to_string().contains(words), "{fault:?}: {e}");
        // The local product had been made before the transport failed, and not in the other cases.
        let is_half_written = fault == Fault::Fails;
        assert_eq!(y.to_vec().is_err(), is_half_written, "{fault:?}");
        assert_eq!(y.with(|_| ()).is_err(), is_half_written, "{fault:?}");
        assert_eq!(y.scale(2.0).is_err(), is_half_written, "{fault:?}");
        y.fill(3.0).unwrap();
        assert_eq!(y.to_vec().unwrap(), vec![3.0; y.len()]);
    }
    let refused = faulty(Fault::Refuses).prepare_part(part(), &Options::default()).unwrap_err();
    assert!(refused.to_string().contains("no memory for messages"), "{refused}");
}

#[test]
fn work_that_a_transport_does_twice_is_done_once() {
    let n = 10;
    // Two ranks without ghosts, so that the first needs no message of the other.
    let a = Csr::from_coo(n, n, &(0..n as u32).map(|i| (i, i, 2.0)).collect::<Vec<_>>()).unwrap();
    let context = faulty(Fault::WorksTwice);
    let a = context.prepare_part(parts(&a, 2).0.swap_remove(0), &Options::default()).unwrap();
    let (x, mut y) = (context.upload(&[1.0; 5]).unwrap(), context.upload(&[10.0; 5]).unwrap());
    a.apply(1.0, &x, 1.0, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [12.0; 5]);
}

#[test]
fn sums_that_cannot_be_made_are_not_read_as_those_of_one_process() {
    let context = faulty(Fault::CannotReduce);
    let (x, mut q) = (context.upload(&[1.0f64; 3]).unwrap(), context.queue().unwrap());
    let xx = q.scalar().unwrap();
    q.dot(&x, &x, xx).unwrap();
    for _ in 0..2 {
        assert!(matches!(q.read_scalar(xx), Err(Error::DeviceLost { .. })));
    }
    q.write_scalar(7.0, xx).unwrap();
    assert_eq!(q.read_scalar(xx).unwrap(), 7.0);
}

#[test]
fn parts_of_other_ranks_and_contexts_without_peers_are_refused() {
    let of = parts(&matrix(40), 2).0;
    let wrong_rank = faulty(Fault::None).prepare_part(of[1].clone(), &Options::default()).unwrap_err();
    assert!(wrong_rank.to_string().contains("part 1 of 2 on rank 0 of 2"), "{wrong_rank}");
    let cpu = Context::with(BackendKind::Cpu).unwrap();
    for context in [cpu.clone(), Context::devices(std::slice::from_ref(&cpu)).unwrap()] {
        let refused = context.prepare_part(of[0].clone(), &Options::default()).unwrap_err();
        assert!(refused.to_string().contains("call Context::with_peers first"), "{refused}");
    }
    // Sums in its queue would be those of this process alone.
    let alone = Context::devices(&[cpu]).unwrap();
    let with_peers = faulty(Fault::None);
    let (x, mut q) = (with_peers.upload(&[1.0f64]).unwrap(), alone.queue().unwrap());
    let xx = q.scalar().unwrap();
    assert!(matches!(q.dot(&x, &x, xx), Err(Error::Foreign { .. })));
}
