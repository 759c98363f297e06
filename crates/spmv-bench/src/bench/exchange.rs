//! `cargo xtask exchange`: what two CUDA devices take to exchange values and to add up a scalar, by copies and by NCCL.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use spmv_cuda::{Cuda, Options};
use spmv_exec::{Device, DeviceScalar, Lane, Program, Queue};

use super::comparison::{Nccl, OfEach};
use super::measure::median;
use super::stop::Stop;
use super::text::aligned;

/// `cargo xtask exchange`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Values that each device sends to the other one, in `f64`.
    #[arg(long, value_delimiter = ',', default_value = "1,1024,65536,1048576,16777216", value_parser = values)]
    values: Vec<usize>,
    /// Measurements, of which medians are taken; each is of several exchanges that follow each other without waiting.
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
}

/// The most of them: two vectors of a gibibyte on each device.
const MOST: usize = 1 << 27;
/// Exchanges of a measurement.
const EXCHANGES: u32 = 20;
/// What the first device sends; the second sends its negative.
const SENT: f64 = 3.0;

fn values(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MOST) => Ok(n),
        _ => Err(format!("'{text}' is no number from 1 to {MOST}")),
    }
}

/// A row of the table for each number of values, and one for the sum of a scalar.
///
/// # Errors
/// If there are no two CUDA devices, if one fails, or if what arrives is not what was sent. Without NCCL its column is empty.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let stop = Stop::at_interrupt()?;
    let n_found = spmv_cuda::devices()?.len();
    ensure!(n_found >= 2, "{n_found} CUDA devices, of two");
    let open = |at: usize| {
        let options = Options { device: Some(at.to_string()), ..Options::from_env()? };
        anyhow::Ok(Device::new(Cuda::open(options)?)?)
    };
    let devices = [open(0)?, open(1)?];
    ensure!(devices[0].reaches(&devices[1]), "these devices do not copy to each other");
    let nccl = Nccl::open(&devices);
    let mut pair = Pair::new(&devices, args.values.iter().copied().max().unwrap_or(1))?;
    let mut rows = Vec::new();
    for n in args.values.iter().copied() {
        stop.check()?;
        rows.push(pair.row(
            nccl.as_ref().ok(),
            &format!("exchange of {n}"),
            args.repeat,
            Work::Exchange(n),
        )?);
    }
    rows.push(pair.row(nccl.as_ref().ok(), "sum of 1", args.repeat, Work::Sum)?);
    let mut out = std::io::stdout().lock();
    let header = ["values of f64", "bytes each way", "copies between peers, us", "GB/s", "NCCL, us", "GB/s"];
    let by = match &nccl {
        Ok(nccl) => format!("NCCL {}", nccl.version()),
        Err(e) => format!("without NCCL: {e:#}"),
    };
    let names: Vec<_> = devices.iter().map(|device| &*device.caps().name).collect();
    writeln!(out, "{}; {by}; medians of {}, each of {EXCHANGES} in a row\n", names.join(", "), args.repeat)?;
    writeln!(out, "{}", aligned(header.map(str::to_owned).to_vec(), rows))?;
    writeln!(out, "\n{}", super::machine::lines())?;
    Ok(())
}

/// What both devices do.
#[derive(Clone, Copy)]
enum Work {
    /// Each sends so many values to the other.
    Exchange(usize),
    /// Each gets the sum of a scalar of both.
    Sum,
}

impl Work {
    fn values(self) -> usize {
        match self {
            Work::Exchange(n) => n,
            Work::Sum => 1,
        }
    }
}

/// Vectors, scalars and queues of two devices.
struct Pair {
    queues: [Queue<Cuda>; 2],
    from: OfEach,
    to: OfEach,
    /// Own scalar, that of the other, and the sum of both.
    scalars: [[DeviceScalar<f64>; 3]; 2],
    /// What makes the sum.
    programs: [Program<f64>; 2],
}

impl Pair {
    fn new(devices: &[Device<Cuda>; 2], n: usize) -> anyhow::Result<Self> {
        let mut queues = [devices[0].queue()?, devices[1].queue()?];
        let from = devices.iter().zip([SENT, -SENT]).map(|(device, value)| device.upload(&vec![value; n]));
        let from = from.collect::<Result<_, _>>()?;
        let to = devices.iter().map(|device| device.zeros(n)).collect::<Result<_, _>>()?;
        let of_queue = |queue: &mut Queue<Cuda>| {
            let [own, other, sum] = [queue.scalar()?, queue.scalar()?, queue.scalar()?];
            queue.write_scalar(SENT, own)?;
            anyhow::Ok(([own, other, sum], queue.program(&[sum.set(own + other)])?))
        };
        let [first, second] = &mut queues;
        let (first, second) = (of_queue(first)?, of_queue(second)?);
        Ok(Self { queues, from, to, scalars: [first.0, second.0], programs: [first.1, second.1] })
    }

    fn row(
        &mut self,
        nccl: Option<&Nccl>,
        what: &str,
        repeat: u32,
        work: Work,
    ) -> anyhow::Result<Vec<String>> {
        let (mut copied, mut by_nccl) = (vec![], vec![]);
        // The first of each does not count.
        for _ in 0..=repeat {
            copied.push(timed(self, |pair| pair.copy(work), Self::wait)?);
            self.check(work, false).with_context(|| format!("{what}, by copies"))?;
            if let Some(nccl) = nccl {
                by_nccl.push(timed(self, |pair| pair.by_nccl(nccl, work), |_| nccl.wait())?);
                self.check(work, true).with_context(|| format!("{what}, by NCCL"))?;
            }
        }
        let bytes = work.values() * size_of::<f64>();
        let columns = |times: Vec<f64>| match times.split_first() {
            Some((_, times)) => {
                let seconds = median(times.to_vec());
                [format!("{:.1}", seconds * 1e6), format!("{:.1}", bytes as f64 / seconds / 1e9)]
            }
            None => ["-".to_owned(), "-".to_owned()],
        };
        let times = columns(copied).into_iter().chain(columns(by_nccl));
        Ok([what.to_owned(), bytes.to_string()].into_iter().chain(times).collect())
    }

    /// As parts do: each device waits for the other to be ready, copies, and goes on when both copies are there.
    fn copy(&mut self, work: Work) -> anyhow::Result<()> {
        let lane = match work {
            Work::Exchange(_) => Lane::Copies,
            Work::Sum => Lane::Operations,
        };
        let [first, second] = &mut self.queues;
        let ready = [first.mark(Lane::Operations)?, second.mark(Lane::Operations)?];
        first.after(lane, &ready[1])?;
        second.after(lane, &ready[0])?;
        match work {
            Work::Exchange(n) => {
                let [of_first, of_second] = &mut self.to[..] else { unreachable!("two devices") };
                first.copy_to_peer(&self.from[0], 0..n, second, of_second, 0)?;
                second.copy_to_peer(&self.from[1], 0..n, first, of_first, 0)?;
            }
            Work::Sum => {
                first.copy_scalar_to_peer(self.scalars[0][0], second, self.scalars[1][1])?;
                second.copy_scalar_to_peer(self.scalars[1][0], first, self.scalars[0][1])?;
            }
        }
        let copied = [first.mark(lane)?, second.mark(lane)?];
        first.after(Lane::Operations, &copied[1])?;
        second.after(Lane::Operations, &copied[0])?;
        if let Work::Sum = work {
            first.compute(self.programs[0])?;
            second.compute(self.programs[1])?;
        }
        Ok(())
    }

    fn by_nccl(&mut self, nccl: &Nccl, work: Work) -> anyhow::Result<()> {
        match work {
            Work::Exchange(n) => nccl.exchange(&self.from, &mut self.to, n),
            Work::Sum => nccl.sums(&self.from, &mut self.to, 1),
        }
    }

    /// What each device has got; takes it away again.
    fn check(&mut self, work: Work, is_nccl: bool) -> anyhow::Result<()> {
        let expected = match work {
            Work::Exchange(_) => [-SENT, SENT],
            Work::Sum if is_nccl => [0.0; 2],
            Work::Sum => [2.0 * SENT; 2],
        };
        for (at, expected) in expected.into_iter().enumerate() {
            let found = match work {
                Work::Sum if !is_nccl => vec![self.queues[at].read_scalar(self.scalars[at][2])?],
                _ => self.to[at].to_vec()?[..work.values()].to_vec(),
            };
            let wrong = found.iter().find(|value| **value != expected);
            ensure!(wrong.is_none(), "device {at} has {wrong:?}, not {expected}");
            self.queues[at].fill(f64::NAN, &mut self.to[at])?;
        }
        self.wait()
    }

    fn wait(&mut self) -> anyhow::Result<()> {
        Ok(self.queues.iter_mut().try_for_each(Queue::wait)?)
    }
}

/// Seconds of one of several in a row, until all are done.
fn timed(
    pair: &mut Pair,
    mut work: impl FnMut(&mut Pair) -> anyhow::Result<()>,
    wait: impl FnOnce(&mut Pair) -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let start = Instant::now();
    (0..EXCHANGES).try_for_each(|_| work(pair))?;
    wait(pair)?;
    Ok(start.elapsed().as_secs_f64() / f64::from(EXCHANGES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_values_are_checked() {
        assert_eq!([values("1"), values("134217728")], [Ok(1), Ok(MOST)]);
        for text in ["0", "134217729", "many"] {
            assert!(values(text).unwrap_err().contains("no number from 1"), "{text}");
        }
    }
}
