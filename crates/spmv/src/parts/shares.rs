//! What each device has of a matrix.

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use spmv_core::{RowStats, Value};
use spmv_exec::{Options, Result};
use spmv_partition::{Halo, Part, Ranges};

use crate::erased::{AnyDevice, Element, Scalar};
use crate::erased_matrix::{AnyIndices, AnyMatrix, AnyVector};
use crate::parts::group::Parts;
use crate::parts::link::{Link, packs};
use crate::parts::peers::Peers;

/// A matrix, cut by rows, each part on a device of its own.
#[derive(Debug)]
pub(super) struct PartsMatrix<T: Value> {
    pub(super) parts: Parts,
    pub(super) rows: Arc<Ranges>,
    pub(super) cols: Arc<Ranges>,
    /// What each part multiplies with its own values of x.
    pub(super) locals: Vec<Box<dyn AnyMatrix<T>>>,
    pub(super) edges: Mutex<Edges<T>>,
    /// Of each part, which of its entries are multiplied with ghosts, in ascending order.
    pub(super) remote_entries: Vec<Vec<u64>>,
    pub(super) stats: RowStats,
    pub(super) explained: String,
    pub(super) prepare_s: f64,
}

/// What moves in a product: of each part what it packs and its ghosts, if there are any. One product at a time does.
#[derive(Debug)]
pub(super) struct Edges<T: Value> {
    pub(super) sent: Vec<Option<Sent<T>>>,
    pub(super) ghosts: Vec<Option<Ghosts<T>>>,
    pub(super) link: Link,
}

/// Values of x that others need, packed.
#[derive(Debug)]
pub(super) struct Sent<T> {
    pub(super) at: Box<dyn AnyIndices>,
    pub(super) values: Box<dyn AnyVector<T>>,
}

/// Values of x that others own, and the rows that are multiplied with them.
#[derive(Debug)]
pub(super) struct Ghosts<T: Value> {
    pub(super) values: Box<dyn AnyVector<T>>,
    pub(super) matrix: Box<dyn AnyMatrix<T>>,
    pub(super) sums: Box<dyn AnyVector<T::Accum>>,
    pub(super) rows: Box<dyn AnyIndices>,
}

impl<T: Scalar> Sent<T> {
    fn prepare(device: &dyn AnyDevice, part: &Part<T>) -> Result<Option<Self>> {
        let at: Vec<u32> = part.halo().sends.iter().flat_map(|send| &send.values).copied().collect();
        if at.is_empty() {
            return Ok(None);
        }
        let values = T::device(device).zeros(at.len())?;
        Ok(Some(Self { at: device.indices(&at, part.local().n_cols())?, values }))
    }
}

impl<T: Scalar> Ghosts<T> {
    fn prepare(device: &dyn AnyDevice, part: &Part<T>, options: &Options) -> Result<Option<Self>> {
        let (local, remote, n_ghosts) = (part.local(), part.remote(), part.halo().n_ghosts());
        if n_ghosts == 0 {
            return Ok(None);
        }
        let of_remote = Options { values: options.values, ..Options::default() };
        Ok(Some(Self {
            values: T::device(device).zeros(n_ghosts)?,
            matrix: T::device(device).prepare(remote.view().erase(), &of_remote)?,
            sums: <T::Accum as Element>::device(device).zeros(remote.n_rows())?,
            rows: device.indices(part.boundary_rows(), local.n_rows())?,
        }))
    }
}

impl<T: Scalar> PartsMatrix<T> {
    /// Of parts that are all here, or of one whose others are with the peers; then it is collective.
    pub(super) fn prepare(
        to: &Parts,
        [rows, cols]: [Arc<Ranges>; 2],
        parts: Vec<Part<T>>,
        peers: Option<&dyn Peers>,
        options: &Options,
    ) -> Result<Self> {
        let start = Instant::now();
        let stats = stats(&parts, cols.len() as usize);
        let (mut locals, mut sent, mut ghosts) = (Vec::new(), Vec::new(), Vec::new());
        let from_device_to_device = peers.is_none() && to.reach_each_other;
        for (device, part) in to.devices.iter().zip(&parts) {
            let packs = !from_device_to_device || packs(part.halo());
            sent.push(if packs { Sent::prepare(&**device, part)? } else { None });
            ghosts.push(Ghosts::prepare(&**device, part, options)?);
            locals.push(T::device(&**device).prepare(part.local().view().erase(), options)?);
        }
        let halos: Vec<&Halo> = parts.iter().map(Part::halo).collect();
        let value_bytes = T::DTYPE.bytes();
        let link = match peers {
            Some(peers) => Link::peers(peers, halos[0], value_bytes)?,
            None if from_device_to_device => Link::devices(&halos),
            None => Link::host(&halos, value_bytes),
        };
        let explained = explain(to, &parts, &locals, &link);
        let remote_entries = parts.iter().map(|part| part.remote_entries().to_vec()).collect();
        Ok(Self {
            parts: to.clone(),
            rows,
            cols,
            locals,
            edges: Mutex::new(Edges { sent, ghosts, link }),
            remote_entries,
            stats,
            explained,
            prepare_s: start.elapsed().as_secs_f64(),
        })
    }
}

/// Of all rows here, with their ghosts; of so many columns.
fn stats<T: Value>(parts: &[Part<T>], n_cols: usize) -> RowStats {
    let mut row_ptr = vec![0u64];
    let mut end = 0;
    for part in parts {
        let first = row_ptr.len();
        let lengths = (0..part.local().n_rows()).map(|row| part.local().view().row_range(row).len() as u64);
        row_ptr.extend(lengths);
        for (at, row) in part.boundary_rows().iter().enumerate() {
            row_ptr[first + *row as usize] += part.remote().view().row_range(at).len() as u64;
        }
        for offset in &mut row_ptr[first..] {
            end += *offset;
            *offset = end;
        }
    }
    RowStats::of_offsets(n_cols, &row_ptr)
}

fn explain<T: Value>(to: &Parts, parts: &[Part<T>], locals: &[Box<dyn AnyMatrix<T>>], link: &Link) -> String {
    let mut text = String::new();
    for ((device, part), local) in to.devices.iter().zip(parts).zip(locals) {
        let Halo { sends, receives } = part.halo();
        let _ = writeln!(
            text,
            "part {} of {} on {}: {} rows, {} nonzeros; {} ghosts of {} parts, {} values to {} parts\n  {}",
            part.index(),
            part.n_parts(),
            device.caps().name,
            part.local().n_rows(),
            part.local().nnz() + part.remote().nnz(),
            part.halo().n_ghosts(),
            receives.len(),
            part.halo().n_sent(),
            sends.len(),
            local.explain(),
        );
    }
    text + &link.explain()
}
