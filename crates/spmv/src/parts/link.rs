//! How values get from the parts that own them to those that need them.

use spmv_exec::{Error, Result};
use spmv_partition::Halo;

use crate::parts::peers::{Exchange, Peers, PeersError};

/// Bytes at an address that suits every value.
#[derive(Debug)]
pub(super) struct Bytes {
    words: Vec<u64>,
    len: usize,
}

impl Bytes {
    fn zeros(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(size_of::<u64>())], len }
    }

    fn get(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    fn get_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

/// Bytes of one part that another one needs.
#[derive(Debug)]
pub(super) struct Copy {
    from: usize,
    at: usize,
    to: usize,
    ghosts: std::ops::Range<usize>,
}

/// Between the parts of this process, through memory of the host; or with those of other processes.
#[derive(Debug)]
pub(super) enum Link {
    Here { sent: Vec<Bytes>, ghosts: Vec<Bytes>, copies: Vec<Copy> },
    Peers(Box<dyn Exchange>),
}

impl Link {
    /// Between the parts that have these halos, all of them.
    pub(super) fn here(halos: &[&Halo], value_bytes: usize) -> Self {
        let mut copies = Vec::new();
        for (from, halo) in halos.iter().enumerate() {
            let mut at = 0;
            for send in &halo.sends {
                let of_it = halos[send.to].receives.iter().find(|receive| receive.from == from);
                let ghosts = &of_it.expect("who is sent to receives").ghosts;
                copies.push(Copy {
                    from,
                    at: at * value_bytes,
                    to: send.to,
                    ghosts: ghosts.start * value_bytes..ghosts.end * value_bytes,
                });
                at += send.values.len();
            }
        }
        let bytes =
            |n: fn(&Halo) -> usize| halos.iter().map(|halo| Bytes::zeros(n(halo) * value_bytes)).collect();
        Self::Here { sent: bytes(Halo::n_sent), ghosts: bytes(Halo::n_ghosts), copies }
    }

    /// With the processes that hold the other parts.
    pub(super) fn peers(peers: &dyn Peers, halo: &Halo, value_bytes: usize) -> Result<Self> {
        Ok(Self::Peers(peers.exchange(halo, value_bytes).map_err(failed)?))
    }

    /// Where a part puts what it sends.
    pub(super) fn sent(&mut self, part: usize) -> &mut [u8] {
        match self {
            Self::Here { sent, .. } => sent[part].get_mut(),
            Self::Peers(exchange) => exchange.sent(),
        }
    }

    /// The ghosts of a part.
    pub(super) fn ghosts(&self, part: usize) -> &[u8] {
        match self {
            Self::Here { ghosts, .. } => ghosts[part].get(),
            Self::Peers(exchange) => exchange.ghosts(),
        }
    }

    /// Moves all values, and does other work meanwhile.
    pub(super) fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<()> {
        match self {
            Self::Here { sent, ghosts, copies } => {
                meanwhile();
                for Copy { from, at, to, ghosts: range } in copies {
                    let values = &sent[*from].get()[*at..*at + range.len()];
                    ghosts[*to].get_mut()[range.clone()].copy_from_slice(values);
                }
                Ok(())
            }
            Self::Peers(exchange) => exchange.run(meanwhile).map_err(failed),
        }
    }

    /// In words, for [`Matrix::explain`](crate::Matrix::explain).
    pub(super) fn explain(&self) -> String {
        match self {
            Self::Here { .. } => "ghosts through memory of the host".into(),
            Self::Peers(exchange) => format!("ghosts {}", exchange.explain()),
        }
    }
}

/// A fault of the transport, as one of the device.
pub(super) fn failed(e: PeersError) -> Error {
    let (device, detail) = ("a process that holds another part".into(), e.to_string());
    spmv_backend::Error::DeviceLost { device, detail }.into()
}
