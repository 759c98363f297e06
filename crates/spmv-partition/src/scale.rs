//! How long products and iterations of conjugate gradients take on many devices, from what parts hold and exchange.
//!
//! A [`Machine`] has the rates of a device and of what connects devices; [`Traffic`] has the counts of a partition. The times that
//! follow are in [`Times`], those of several numbers of parts in a [`Curve`]. `docs/scale.md` has the assumptions.
//!
//! ```
//! use spmv_partition::poisson_3d;
//! use spmv_partition::scale::{Arrangement, Curve, Machine, Scaling, Work};
//! let machine = Machine {
//!     product_bytes_s: 100e9,
//!     vector_bytes_s: 100e9,
//!     start_s: 1e-6,
//!     stage_s: 2e-6,
//!     staged_bytes_s: 20e9,
//!     read_s: 1e-6,
//!     message_s: 3e-6,
//!     link_bytes_s: 10e9,
//!     reduction_s: None,
//! };
//! // 64 x 64 x 64 points, in slabs.
//! let times = [1, 2, 4, 8, 16, 32, 64]
//!     .map(|parts| machine.times(&poisson_3d([64, 64, 64 / parts], [1, 1, parts], 8), Arrangement::Together));
//! let curve = Curve::new(Scaling::Strong, times.to_vec());
//! println!("no faster beyond {:?} devices", curve.limit(Work::Product));
//! assert!(curve.speed_up(1, Work::Product) > 1.0);
//! ```

use crate::traffic::{PartTraffic, Traffic};

/// Bytes of a column, of a row offset, and of an index of a value that is sent or of a boundary row.
const INDEX: u64 = 4;

/// Passes over vectors in an iteration of conjugate gradients, besides the product: two of a scalar product, three of an update
/// with a norm, five of an update of two vectors.
const PASSES: u64 = 10;
/// The operations that make them.
const OPERATIONS: f64 = 3.0;
/// Those of them whose sums are of all parts.
const REDUCTIONS: f64 = 2.0;

/// Rates of one of many equal devices, and of what connects them.
///
/// Bytes per second are of the bytes that an operation must read and write once, so what caches save or lose is part of the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Bytes per second of a product: values, columns, row offsets, `x` and `y`.
    pub product_bytes_s: f64,
    /// Bytes per second of passes over vectors.
    pub vector_bytes_s: f64,
    /// Seconds to start an operation.
    pub start_s: f64,
    /// Seconds that an exchange costs a part before any byte moves: waiting for the device, and copies to and from memory of the host.
    pub stage_s: f64,
    /// Bytes per second at which values to be sent are gathered and copied to the host, ghosts copied to the device, and sums
    /// added to boundary rows.
    pub staged_bytes_s: f64,
    /// Seconds until the host has a scalar of a device, and the device the sum of all.
    pub read_s: f64,
    /// Seconds of a message without bytes.
    pub message_s: f64,
    /// Bytes per second that a device sends, while it receives as many.
    pub link_bytes_s: f64,
    /// Seconds of a sum over all parts, as measured; without, `read_s` and a `message_s` for each level of a binary tree.
    pub reduction_s: Option<f64>,
}

/// Where the parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Each on a device of its own: a phase takes as long as its slowest part. One part alone exchanges and sums nothing.
    Together,
    /// All on one device, one after another, as in a context of one device that is named several times: times add up, and
    /// values go through memory of the host, without messages.
    InTurn,
}

/// Predicted seconds of one number of parts.
///
/// Phases are those of the slowest part in each; with [`Arrangement::InTurn`], of all parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// How many parts.
    pub parts: usize,
    /// Gathering what others need, and copying it to the host.
    pub pack_s: f64,
    /// The product with own values of `x`.
    pub local_s: f64,
    /// Messages, meanwhile.
    pub exchange_s: f64,
    /// Ghosts to the device, the product with them, and its sums to the boundary rows.
    pub boundary_s: f64,
    /// A product.
    pub product_s: f64,
    /// An iteration of conjugate gradients without a preconditioner.
    pub iteration_s: f64,
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A product.
    Product,
    /// An iteration of conjugate gradients.
    Iteration,
}

impl Times {
    /// Seconds of either.
    pub fn seconds(&self, of: Work) -> f64 {
        match of {
            Work::Product => self.product_s,
            Work::Iteration => self.iteration_s,
        }
    }
}

/// Bytes that a product of so many rows, columns and nonzeros reads and writes once.
///
/// ```
/// use spmv_partition::scale::product_bytes;
/// // Three values and columns, three offsets, two values of x and of y.
/// assert_eq!(product_bytes(2, 2, 3, 8), 3 * 12 + 3 * 4 + 2 * 8 + 2 * 8);
/// ```
pub fn product_bytes(rows: u64, cols: u64, nonzeros: u64, value_bytes: u64) -> u64 {
    if rows == 0 {
        return 0;
    }
    nonzeros * (value_bytes + INDEX) + (rows + 1) * INDEX + (rows + cols) * value_bytes
}

/// Bytes that the passes over vectors of an iteration read and write.
///
/// ```
/// assert_eq!(spmv_partition::scale::vector_bytes(100, 8), 8000);
/// ```
pub fn vector_bytes(rows: u64, value_bytes: u64) -> u64 {
    PASSES * rows * value_bytes
}

/// Bytes of a part that are gathered, copied between device and host, and added to boundary rows in one product.
///
/// ```
/// use spmv_partition::{PartTraffic, scale::staged_bytes};
/// let part = PartTraffic { sent: 1, ghosts: 1, boundary_rows: 1, value_bytes: 8, ..PartTraffic::default() };
/// // An index and three copies of what is sent, a copy of the ghost; an index, a sum, and a row that is read and written.
/// assert_eq!(staged_bytes(&part), (4 + 3 * 8) + 8 + (4 + 3 * 8));
/// ```
pub fn staged_bytes(part: &PartTraffic) -> u64 {
    packed_bytes(part) + part.ghosts * part.value_bytes + added_bytes(part)
}

fn packed_bytes(part: &PartTraffic) -> u64 {
    part.sent * (INDEX + 3 * part.value_bytes)
}

fn added_bytes(part: &PartTraffic) -> u64 {
    part.boundary_rows * (INDEX + 3 * part.value_bytes)
}

impl Machine {
    /// Times of a partition. O(parts).
    ///
    /// A product is `pack + max(local, exchange) + boundary`: all parts wait for the slowest one to pack, then each goes on by itself.
    pub fn times(&self, traffic: &Traffic, arrangement: Arrangement) -> Times {
        let parts = traffic.parts();
        let phases: Vec<Phases> = parts.iter().map(|part| self.phases(part)).collect();
        let rows = parts.iter().map(|part| vector_bytes(part.rows, part.value_bytes) as f64);
        let passes: Vec<f64> =
            rows.map(|bytes| OPERATIONS * self.start_s + bytes / self.vector_bytes_s).collect();
        let all = |of: fn(&Phases) -> f64| {
            let each = phases.iter().map(of);
            match arrangement {
                Arrangement::Together => each.fold(0.0, f64::max),
                Arrangement::InTurn => each.sum(),
            }
        };
        let (pack_s, local_s, boundary_s) = (all(|p| p.pack), all(|p| p.local), all(|p| p.boundary));
        let n = parts.len();
        let (exchange_s, product_s, vectors_s) = match arrangement {
            Arrangement::Together => {
                let after_packing = all(|p| p.local.max(p.exchange) + p.boundary);
                (all(|p| p.exchange), pack_s + after_packing, passes.into_iter().fold(0.0, f64::max))
            }
            Arrangement::InTurn => (0.0, pack_s + local_s + boundary_s, passes.into_iter().sum()),
        };
        let iteration_s = product_s + vectors_s + REDUCTIONS * self.reduction(n, arrangement);
        Times { parts: n, pack_s, local_s, exchange_s, boundary_s, product_s, iteration_s }
    }

    fn phases(&self, part: &PartTraffic) -> Phases {
        let bytes = part.value_bytes;
        let seconds = |bytes: u64, rate: f64| bytes as f64 / rate;
        let local = product_bytes(part.rows, part.rows, part.nonzeros - part.remote_nonzeros, bytes);
        let remote = product_bytes(part.boundary_rows, part.ghosts, part.remote_nonzeros, bytes);
        let starts = |n: f64, is_needed: bool| if is_needed { n * self.start_s } else { 0.0 };
        let stage = if part.neighbours > 0 { self.stage_s } else { 0.0 };
        Phases {
            pack: starts(1.0, part.sent > 0) + stage + seconds(packed_bytes(part), self.staged_bytes_s),
            local: starts(1.0, true) + seconds(local, self.product_bytes_s),
            exchange: part.neighbours as f64 * self.message_s
                + seconds(part.sent.max(part.ghosts) * bytes, self.link_bytes_s),
            boundary: starts(2.0, part.ghosts > 0)
                + seconds(remote, self.product_bytes_s)
                + seconds(part.ghosts * bytes + added_bytes(part), self.staged_bytes_s),
        }
    }

    fn reduction(&self, parts: usize, arrangement: Arrangement) -> f64 {
        match arrangement {
            Arrangement::InTurn => parts as f64 * self.read_s,
            Arrangement::Together if parts < 2 => 0.0,
            Arrangement::Together => {
                let levels = f64::from(usize::BITS - (parts - 1).leading_zeros());
                self.reduction_s.unwrap_or(self.read_s + levels * self.message_s)
            }
        }
    }
}

/// Seconds of one part.
struct Phases {
    pack: f64,
    local: f64,
    exchange: f64,
    boundary: f64,
}

/// What stays the same when there are more parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// The matrix.
    Strong,
    /// The rows of a part.
    Weak,
}

/// Times of several numbers of parts, compared with the first.
///
/// ```
/// use spmv_partition::scale::{Curve, Scaling, Times, Work};
/// let times = |parts, product_s| Times { parts, product_s, ..Times::default() };
/// let curve = Curve::new(Scaling::Strong, vec![times(1, 8.0), times(2, 4.0), times(4, 5.0)]);
/// assert_eq!((curve.speed_up(1, Work::Product), curve.efficiency(2, Work::Product)), (2.0, 0.4));
/// assert_eq!((curve.limit(Work::Product), curve.first_below(0.5, Work::Product)), (Some(2), Some(4)));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    scaling: Scaling,
    points: Vec<Times>,
}

impl Curve {
    /// Of times, in any order.
    pub fn new(scaling: Scaling, mut points: Vec<Times>) -> Self {
        points.sort_by_key(|times| times.parts);
        Self { scaling, points }
    }

    /// The times, by numbers of parts.
    pub fn points(&self) -> &[Times] {
        &self.points
    }

    /// How much more is done in the same time as by the parts of the first point. Panics beyond the last one.
    pub fn speed_up(&self, at: usize, of: Work) -> f64 {
        let faster = self.points[0].seconds(of) / self.points[at].seconds(of);
        match self.scaling {
            Scaling::Strong => faster,
            Scaling::Weak => faster * self.growth(at),
        }
    }

    /// The speed-up over what as many more parts could give at best. Panics beyond the last point.
    pub fn efficiency(&self, at: usize, of: Work) -> f64 {
        self.speed_up(at, of) / self.growth(at)
    }

    /// The number of parts beyond which the next more, of those given, are no faster; none if each is faster than those before.
    pub fn limit(&self, of: Work) -> Option<usize> {
        let last = (1..self.points.len()).find(|at| self.speed_up(*at, of) <= self.speed_up(at - 1, of));
        last.map(|at| self.points[at - 1].parts)
    }

    /// The least number of parts that is as fast as any given; it may be beyond the limit. None without points.
    pub fn fastest(&self, of: Work) -> Option<usize> {
        let faster =
            |best: usize, at| if self.speed_up(at, of) > self.speed_up(best, of) { at } else { best };
        (0..self.points.len()).reduce(faster).map(|at| self.points[at].parts)
    }

    /// The first number of parts with an efficiency below this one.
    pub fn first_below(&self, efficiency: f64, of: Work) -> Option<usize> {
        let at = (0..self.points.len()).find(|at| self.efficiency(*at, of) < efficiency);
        at.map(|at| self.points[at].parts)
    }

    /// Parts, relative to the first point.
    fn growth(&self, at: usize) -> f64 {
        self.points[at].parts as f64 / self.points[0].parts as f64
    }
}
