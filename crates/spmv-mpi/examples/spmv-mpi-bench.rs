//! Times products and iterations of conjugate gradients of several processes, and what a product does when.
//!
//! `cargo build --release -p spmv-mpi --features mpi --example spmv-mpi-bench`, then
//! `mpiexec -n 4 target/release/examples/spmv-mpi-bench --side 100 --one`
//!
//! Times are medians, of the slowest process. A product whose values differ from those of a loop prints none.

mod stencil;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Parser;
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{Destination, Source};
use spmv::parts::{Exchange, Halo, Part, Peers, PeersError, Ranges, Reduction};
use spmv::{BackendKind, Context, Csr, Options as Plan};
use spmv_io::matrix_market::Reader;
use spmv_mpi::{MpiPeers, OwnRows, Progress, exchange_requests};
use spmv_partition::LocalRows;
use spmv_solvers::{ConjugateGradient, Options, Stop};
use stencil::Cube;

type Failure = Box<dyn std::error::Error>;

/// Times products of several processes.
#[derive(Debug, Parser)]
struct Args {
    /// Matrix Market files, each read by all processes together; without any, a seven-point stencil.
    files: Vec<PathBuf>,
    /// Points of an edge of the stencil's cube.
    #[arg(long, default_value_t = 60)]
    side: u64,
    /// Gives each process a slab of the cube, not a box.
    #[arg(long)]
    slabs: bool,
    /// Products, of which the median is taken.
    #[arg(long, default_value_t = 50)]
    repeat: usize,
    /// Backend of every process.
    #[arg(long, default_value = "cpu")]
    backend: BackendKind,
    /// Compares with rank 0 alone, with as many threads as there are processes, while the others sleep. It then makes the whole matrix.
    #[arg(long)]
    one: bool,
    /// When ghosts are exchanged.
    #[arg(long, value_enum, default_value = "auto")]
    progress: When,
}

/// As [`Progress`] has it.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum When {
    Auto,
    Meanwhile,
    Before,
}

fn main() {
    let args = Args::parse();
    spmv_mpi::run(|peers| {
        let peers = &peers.clone().progress(match args.progress {
            When::Auto => Progress::Auto,
            When::Meanwhile => Progress::Meanwhile,
            When::Before => Progress::Before,
        });
        if peers.rank() == 0 {
            println!(
                "{} processes on {}; medians of {}, microseconds",
                peers.size(),
                args.backend,
                args.repeat
            );
            println!(
                "matrix | rows | nonzeros | ghosts | product | pack | local | waits | boundary rows | \
                 exchange alone | hidden | CG iteration | one process"
            );
        }
        for file in &args.files {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let own = spmv_mpi::read(peers, file, &Reader::new(), None)?;
            time(peers, &args, &name, own, || read_alone(file))?;
        }
        if args.files.is_empty() {
            let whole_cube = Cube::boxes(args.side, 1);
            let boxes = Cube::boxes(args.side, peers.size());
            let (cube, ranges) = match args.slabs {
                true => (&whole_cube, Ranges::even(args.side.pow(3), peers.size())),
                false => (&boxes, boxes.ranges()?),
            };
            let rows = cube.rows(ranges.range(peers.rank()))?;
            let whole = || whole(whole_cube.rows(0..args.side.pow(3))?);
            time(peers, &args, &format!("stencil {0}^3", args.side), OwnRows { ranges, rows }, whole)?;
        }
        Ok::<(), Failure>(())
    });
}

/// A row of the table.
fn time(
    peers: &MpiPeers,
    args: &Args,
    name: &str,
    own: OwnRows<f64>,
    whole: impl FnOnce() -> Result<Csr<f64, u64>, Failure>,
) -> Result<(), Failure> {
    let watched = Arc::new(Watched { peers: peers.clone(), last: Arc::default() });
    let device = Context::builder().backend(args.backend).build()?;
    let context = device.with_peers(Arc::clone(&watched) as Arc<dyn Peers>)?;
    let OwnRows { ranges, rows } = own;
    let n_cols = rows.n_cols();
    let cols = if ranges.len() == n_cols { ranges.clone() } else { Ranges::even(n_cols, peers.size()) };
    let expected: Vec<f64> = products_of_loop(&rows);
    let part = exchange_requests(peers, Part::new(peers.rank(), &ranges, &cols, rows)?)?;
    let mut alone = peers.exchange(part.halo(), size_of::<f64>())?;
    let mut counts = [part.local().n_rows(), part.local().nnz() + part.remote().nnz(), part.ghosts().len()]
        .map(|count| count as f64);
    peers.reduce(Reduction::Sum, &mut counts)?;
    let own_cols = part.cols();
    let a = context.prepare_part(part, &Plan::default())?;
    let x: Vec<f64> = own_cols.map(value).collect();
    let (x, mut y) = (context.upload(&x)?, a.zeros_y()?);
    a.apply(1.0, &x, 0.0, &mut y)?;
    let differs =
        |(found, expected): (&f64, &f64)| (found - expected).abs() > 1e-10 * expected.abs().max(1.0);
    let mut wrong = [y.to_vec()?.iter().zip(&expected).filter(|pair| differs(*pair)).count() as f64];
    peers.reduce(Reduction::Sum, &mut wrong)?;
    if wrong[0] > 0.0 {
        return Err(format!("{name}: {} sums differ from those of a loop", wrong[0]).into());
    }
    // Begin and end of a product, and what happened in between, each in microseconds since the begin.
    let mut phases = vec![vec![]; 5];
    for _ in 0..args.repeat {
        // All begin together, as they do after a scalar product.
        peers.reduce(Reduction::Sum, &mut [0.0])?;
        let begin = Instant::now();
        a.apply(1.0, &x, 0.0, &mut y)?;
        let end = Instant::now();
        let Moments { start, work, worked, moved } = *watched.last.lock().unwrap_or_else(|e| e.into_inner());
        let us = |from: Option<Instant>, to: Option<Instant>| match (from, to) {
            (Some(from), Some(to)) => (to - from).as_secs_f64() * 1e6,
            _ => 0.0,
        };
        let (begin, end) = (Some(begin), Some(end));
        let waits = us(start, work) + us(worked, moved);
        let of = [us(begin, end), us(begin, start), us(work, worked), waits, us(moved, end)];
        phases.iter_mut().zip(of).for_each(|(phase, of)| phase.push(of));
    }
    let mut exchange = vec![];
    for _ in 0..args.repeat {
        peers.reduce(Reduction::Sum, &mut [0.0])?;
        let begin = Instant::now();
        alone.run(&mut || ())?;
        exchange.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    let mut times: Vec<f64> = phases.into_iter().map(median).collect();
    times.push(median(exchange));
    times.push(if ranges.len() == n_cols { iteration_us(&context, &a, args.repeat)? } else { 0.0 });
    peers.reduce(Reduction::Greatest, &mut times)?;
    let one = if args.one { one_process(peers, args, whole)? } else { None };
    if peers.rank() == 0 {
        let [rows, nnz, ghosts] = counts;
        let [product, pack, local, waits, boundary, exchange, iteration] = times[..] else { unreachable!() };
        // Of the time that it takes alone, what a product does not wait for.
        let hidden = match ghosts > 0.0 {
            true => format!("{:.0}%", 100.0 * (1.0 - waits / exchange).clamp(0.0, 1.0)),
            false => "-".into(),
        };
        let one = one.map_or("-".into(), |one| format!("{one:.1} ({:.2}x)", one / product));
        println!(
            "{name} | {rows} | {nnz} | {ghosts} | {product:.1} | {pack:.1} | {local:.1} | {waits:.1} | {boundary:.1} | \
             {exchange:.1} | {hidden} | {iteration:.1} | {one}"
        );
    }
    Ok(())
}

/// Microseconds of an iteration that never converges.
fn iteration_us(context: &Context, a: &spmv::Matrix<f64>, repeat: usize) -> Result<f64, Failure> {
    let (mut b, mut x) = (context.zeros(a.n_rows())?, context.zeros(a.n_cols())?);
    b.fill(1.0)?;
    let mut cg = ConjugateGradient::new(a)?;
    let mut options =
        Options { relative: 0.0, max_iterations: repeat, check_every: repeat, ..Options::default() };
    let mut times = vec![];
    for _ in 0..3 {
        x.fill(0.0)?;
        let begin = Instant::now();
        // What is no positive definite matrix is no system of this method, and its iterations take as long.
        match cg.solve(a, &b, &mut x, &mut options) {
            Ok(report) if report.stop != Stop::MaxIterations => return Err(format!("{report:?}").into()),
            _ => times.push(begin.elapsed().as_secs_f64() * 1e6 / repeat as f64),
        }
    }
    Ok(median(times))
}

/// The product of rank 0 with as many threads as there are processes, while the others sleep.
fn one_process(
    peers: &MpiPeers,
    args: &Args,
    whole: impl FnOnce() -> Result<Csr<f64, u64>, Failure>,
) -> Result<Option<f64>, Failure> {
    let mut time = None;
    if peers.rank() == 0 {
        let context = Context::builder().backend(args.backend).threads(peers.size()).build()?;
        let whole = whole()?;
        let a = context.prepare(&whole)?;
        let x: Vec<f64> = (0..whole.n_cols() as u64).map(value).collect();
        let (x, mut y) = (context.upload(&x)?, a.zeros_y()?);
        let mut times = vec![];
        for _ in 0..args.repeat {
            let begin = Instant::now();
            a.apply(1.0, &x, 0.0, &mut y)?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        time = Some(median(times));
    }
    wait_asleep();
    Ok(time)
}

/// Waits for rank 0. Whoever waits in MPI keeps a core busy, so the others ask now and then.
fn wait_asleep() {
    let world = SimpleCommunicator::world();
    if world.rank() == 0 {
        (1..world.size()).for_each(|rank| world.process_at_rank(rank).send(&1u8));
        return;
    }
    let zero = world.process_at_rank(0);
    while zero.immediate_probe().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let _: (u8, _) = zero.receive();
}

/// The value of `x` in a column.
fn value(col: u64) -> f64 {
    (col % 13) as f64 / 7.0 - 0.9
}

fn products_of_loop(rows: &LocalRows<f64>) -> Vec<f64> {
    let of_row = |ends: &[u64]| {
        let entries = ends[0] as usize..ends[1] as usize;
        entries.map(|e| rows.vals()[e] * value(rows.cols()[e])).sum()
    };
    rows.row_ptr().windows(2).map(of_row).collect()
}

fn read_alone(file: &Path) -> Result<Csr<f64, u64>, Failure> {
    Ok(Reader::new().read(file)?)
}

fn whole(rows: LocalRows<f64>) -> Result<Csr<f64, u64>, Failure> {
    let cols = rows.cols().iter().map(|col| *col as u32).collect();
    let (n, row_ptr, vals) = (rows.n_rows(), rows.row_ptr().to_vec(), rows.vals().to_vec());
    Ok(Csr::new(n, rows.n_cols() as usize, row_ptr, cols, vals)?)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// When an exchange and the work in it began and ended.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    start: Option<Instant>,
    work: Option<Instant>,
    worked: Option<Instant>,
    moved: Option<Instant>,
}

/// The processes, and when they exchanged what.
#[derive(Debug)]
struct Watched {
    peers: MpiPeers,
    last: Arc<Mutex<Moments>>,
}

#[derive(Debug)]
struct WatchedExchange {
    exchange: Box<dyn Exchange>,
    last: Arc<Mutex<Moments>>,
}

impl Peers for Watched {
    fn rank(&self) -> usize {
        self.peers.rank()
    }

    fn size(&self) -> usize {
        self.peers.size()
    }

    fn exchange(&self, halo: &Halo, value_bytes: usize) -> Result<Box<dyn Exchange>, PeersError> {
        let exchange = self.peers.exchange(halo, value_bytes)?;
        Ok(Box::new(WatchedExchange { exchange, last: Arc::clone(&self.last) }))
    }

    fn reduce(&self, op: Reduction, values: &mut [f64]) -> Result<(), PeersError> {
        self.peers.reduce(op, values)
    }
}

impl Exchange for WatchedExchange {
    fn sent(&mut self) -> &mut [u8] {
        self.exchange.sent()
    }

    fn ghosts(&self) -> &[u8] {
        self.exchange.ghosts()
    }

    fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<(), PeersError> {
        let mut moments = Moments { start: Some(Instant::now()), ..Moments::default() };
        let (mut work, mut worked) = (None, None);
        let done = self.exchange.run(&mut || {
            work = Some(Instant::now());
            meanwhile();
            worked = Some(Instant::now());
        });
        moments = Moments { work, worked, moved: Some(Instant::now()), ..moments };
        *self.last.lock().unwrap_or_else(|e| e.into_inner()) = moments;
        done
    }
}
