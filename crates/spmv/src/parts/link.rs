//! How values get from the parts that own them to those that need them.

use std::ops::Range;

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

/// Values of one part that another one needs.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) from: usize,
    /// Among those that the part packs, or in its x where it packs none ([`packs`]).
    pub(super) sent: Range<usize>,
    pub(super) to: usize,
    /// Among its ghosts.
    pub(super) ghosts: Range<usize>,
}

/// Whether a part packs what it sends: not if each other part needs a range of x, which is copied from where it is.
pub(super) fn packs(halo: &Halo) -> bool {
    let is_range = |values: &[u32]| values.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    !halo.sends.iter().all(|send| is_range(&send.values))
}

/// What moves between parts that have these halos, all of them, in the order of senders; from x for those that need not pack, if any may.
fn copies(halos: &[&Halo], packs: impl Fn(&Halo) -> bool) -> Vec<Copy> {
    let mut copies = Vec::new();
    for (from, halo) in halos.iter().enumerate() {
        let (packs, mut packed) = (packs(halo), 0);
        for send in &halo.sends {
            let of_it = halos[send.to].receives.iter().find(|receive| receive.from == from);
            let ghosts = of_it.expect("who is sent to receives").ghosts.clone();
            let first = send.values.first().map_or(0, |first| *first as usize);
            let start = if packs { packed } else { first };
            copies.push(Copy { from, sent: start..start + send.values.len(), to: send.to, ghosts });
            packed += send.values.len();
        }
    }
    copies
}

/// Between the parts of this process, from device to device or through memory of the host; or with those of other processes.
#[derive(Debug)]
pub(super) enum Link {
    Devices(Vec<Copy>),
    Host(Host),
    Peers(Box<dyn Exchange>),
}

/// Memory of the host for what parts send and receive.
#[derive(Debug)]
pub(super) struct Host {
    sent: Vec<Bytes>,
    ghosts: Vec<Bytes>,
    copies: Vec<Copy>,
    value_bytes: usize,
}

impl Link {
    /// Between devices that reach each other.
    pub(super) fn devices(halos: &[&Halo]) -> Self {
        Self::Devices(copies(halos, packs))
    }

    /// The same for rows of so many values, all of which are packed.
    pub(super) fn devices_in_rows(halos: &[&Halo], columns: usize) -> Self {
        let in_values = |rows: Range<usize>| rows.start * columns..rows.end * columns;
        let of_rows = copies(halos, |_| true).into_iter();
        let copies = of_rows.map(|Copy { from, sent, to, ghosts }| Copy {
            from,
            sent: in_values(sent),
            to,
            ghosts: in_values(ghosts),
        });
        Self::Devices(copies.collect())
    }

    /// Between devices that do not.
    pub(super) fn host(halos: &[&Halo], value_bytes: usize) -> Self {
        let bytes =
            |n: fn(&Halo) -> usize| halos.iter().map(|halo| Bytes::zeros(n(halo) * value_bytes)).collect();
        let (sent, ghosts) = (bytes(Halo::n_sent), bytes(Halo::n_ghosts));
        Self::Host(Host { sent, ghosts, copies: copies(halos, |_| true), value_bytes })
    }

    /// With the processes that hold the other parts.
    pub(super) fn peers(peers: &dyn Peers, halo: &Halo, value_bytes: usize) -> Result<Self> {
        Ok(Self::Peers(peers.exchange(halo, value_bytes).map_err(failed)?))
    }

    /// In words, for [`Matrix::explain`](crate::Matrix::explain).
    pub(super) fn explain(&self) -> String {
        match self {
            Self::Devices(_) => "ghosts from device to device".into(),
            Self::Host(_) => "ghosts through memory of the host".into(),
            Self::Peers(exchange) => format!("ghosts {}", exchange.explain()),
        }
    }
}

/// An exchange through memory of the host.
pub(super) trait Staged {
    /// Where a part puts what it sends.
    fn sent(&mut self, part: usize) -> &mut [u8];

    /// The ghosts of a part.
    fn ghosts(&self, part: usize) -> &[u8];

    /// Moves all values, and does other work meanwhile.
    fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<()>;
}

impl Staged for Host {
    fn sent(&mut self, part: usize) -> &mut [u8] {
        self.sent[part].get_mut()
    }

    fn ghosts(&self, part: usize) -> &[u8] {
        self.ghosts[part].get()
    }

    fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<()> {
        meanwhile();
        let bytes = |range: &Range<usize>| range.start * self.value_bytes..range.end * self.value_bytes;
        for Copy { from, sent, to, ghosts } in &self.copies {
            let values = &self.sent[*from].get()[bytes(sent)];
            self.ghosts[*to].get_mut()[bytes(ghosts)].copy_from_slice(values);
        }
        Ok(())
    }
}

impl Staged for Box<dyn Exchange> {
    fn sent(&mut self, _: usize) -> &mut [u8] {
        (**self).sent()
    }

    fn ghosts(&self, _: usize) -> &[u8] {
        (**self).ghosts()
    }

    fn run(&mut self, meanwhile: &mut (dyn FnMut() + Send)) -> Result<()> {
        (**self).run(meanwhile).map_err(failed)
    }
}

/// A fault of the transport, as one of the device.
pub(super) fn failed(e: PeersError) -> Error {
    let (device, detail) = ("a process that holds another part".into(), e.to_string());
    spmv_backend::Error::DeviceLost { device, detail }.into()
}

#[cfg(test)]
mod tests {
    use spmv_partition::{Receive, Send};

    use super::*;

    /// Two parts, the first of which sends these values, and the second one its first.
    fn halos(values: &[u32]) -> [Halo; 2] {
        let halo = |peer: usize, values: &[u32], n_ghosts: usize| Halo {
            sends: vec![Send { to: peer, values: values.to_vec() }],
            receives: vec![Receive { from: peer, ghosts: 0..n_ghosts }],
        };
        [halo(1, values, 1), halo(0, &[0], values.len())]
    }

    fn sent(values: &[u32], way: fn(&[&Halo]) -> Link) -> Vec<Range<usize>> {
        let halos = halos(values);
        let (Link::Devices(copies) | Link::Host(Host { copies, .. })) = way(&halos.each_ref()) else {
            unreachable!("no peers")
        };
        copies.into_iter().map(|copy| copy.sent).collect()
    }

    #[test]
    fn a_range_of_x_is_copied_from_where_it_is_between_devices_alone() {
        assert_eq!(sent(&[5, 6, 7], Link::devices), [5..8, 0..1]);
        assert_eq!(sent(&[5, 7], Link::devices), [0..2, 0..1]);
        assert_eq!(sent(&[5, 6, 7], |halos| Link::host(halos, 8)), [0..3, 0..1]);
    }
}
