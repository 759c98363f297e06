//! Other processes that hold parts, as one of them sees them.

use std::fmt::Debug;

use spmv_partition::Halo;

/// How numbers of all parts become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their sum, in the order of ranks.
    Sum,
    /// The greatest. A NaN counts as the greatest.
    Greatest,
}

impl Reduction {
    /// Of two numbers: what a transport folds those of all ranks with, in their order.
    ///
    /// ```
    /// use spmv::parts::Reduction;
    /// assert_eq!(Reduction::Sum.of(1.0, 2.0), 3.0);
    /// assert!(Reduction::Greatest.of(f64::NAN, 2.0).is_nan());
    /// ```
    pub fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Sum => a + b,
            Self::Greatest if a.is_nan() || a >= b => a,
            Self::Greatest => b,
        }
    }
}

/// A fault between processes, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PeersError(pub String);

/// The processes that hold the other parts of matrices and vectors, as the transport between them has it: MPI, for example.
///
/// What is collective must be called by all of them in the same order.
pub trait Peers: Debug + Send + Sync {
    /// Index of this process, which is that of its parts.
    fn rank(&self) -> usize;

    /// How many processes there are.
    fn size(&self) -> usize;

    /// Prepares what every product of a matrix does: memory, and requests that are started again and again. Collective. A value has
    /// `value_bytes` bytes.
    ///
    /// # Errors
    /// What the transport says.
    fn exchange(&self, halo: &Halo, value_bytes: usize) -> Result<Box<dyn Exchange>, PeersError>;

    /// Reduces each number with those of all processes. The result has the same bits in every process, and in every run with as many.
    /// Collective.
    ///
    /// # Errors
    /// What the transport says.
    fn reduce(&self, op: Reduction, values: &mut [f64]) -> Result<(), PeersError>;
}

/// The exchange of one matrix.
pub trait Exchange: Debug + Send {
    /// Where the values to be sent go, in the order of [`Halo::sends`]. Its address is a multiple of 8.
    fn sent(&mut self) -> &mut [u8];

    /// The ghosts that came last, in the order of [`Halo::receives`]. Its address is a multiple of 8.
    fn ghosts(&self) -> &[u8];

    /// Sends and receives, and does other work meanwhile: the first call does all of it. Collective.
    ///
    /// # Errors
    /// What the transport says. The work was done all the same.
    fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<(), PeersError>;

    /// Which way the values take, for [`Matrix::explain`](crate::Matrix::explain).
    fn explain(&self) -> String {
        "through memory of the host, by messages".into()
    }
}
