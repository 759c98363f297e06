//! What each device has of a matrix.

use std::fmt::Write;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use spmv_core::{Csr, RowStats, Value};
use spmv_exec::{BlockShape, Options, Result};
use spmv_partition::{Halo, Part, Ranges};

use crate::erased::{AnyDevice, Element, Scalar};
use crate::erased_matrix::{AnyIndices, AnyMatrix, AnyVector};
use crate::parts::cut::{Cut, shape_of};
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
    /// What each part multiplies with its ghosts, if it has any: its boundary rows.
    pub(super) remotes: Vec<Option<Box<dyn AnyMatrix<T>>>>,
    pub(super) edges: Mutex<Edges<T>>,
    /// For products with several right-hand sides, if it was prepared with them.
    pub(super) blocks: Option<Mutex<BlockEdges<T>>>,
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

/// Values of x that others own, and the sums of the rows that are multiplied with them.
#[derive(Debug)]
pub(super) struct Ghosts<T: Value> {
    pub(super) values: Box<dyn AnyVector<T>>,
    pub(super) sums: Box<dyn AnyVector<T::Accum>>,
    pub(super) rows: Box<dyn AnyIndices>,
}

/// Where the values of a part are, in its vector of a length: a vector is a block of one column.
struct Positions {
    shape: BlockShape,
    len: usize,
}

impl Positions {
    fn of_vector(len: usize) -> Self {
        Self { shape: BlockShape::row_major(len, 1), len }
    }

    fn of_block(rows: &Arc<Ranges>, (shape, len): (BlockShape, usize), part: usize) -> Self {
        let len = Cut::of_block(rows, shape, len).pieces(part).iter().map(Range::len).sum();
        Self { shape: shape_of(rows, shape, part), len }
    }

    /// Those of each row next to each other.
    fn of_rows(&self, device: &dyn AnyDevice, rows: &[u32]) -> Result<Box<dyn AnyIndices>> {
        // A device refuses vectors that are longer than such positions reach.
        let of_row = |row: &u32| {
            let row = *row as usize;
            (0..self.shape.columns()).map(move |column| self.shape.index(row, column) as u32)
        };
        device.indices(&rows.iter().flat_map(of_row).collect::<Vec<u32>>(), self.len)
    }
}

/// What a part and others have to do with each other.
#[derive(Debug)]
struct Edge {
    halo: Halo,
    boundary_rows: Vec<u32>,
}

impl<T: Scalar> Sent<T> {
    fn prepare(device: &dyn AnyDevice, edge: &Edge, x: &Positions) -> Result<Option<Self>> {
        let rows: Vec<u32> = edge.halo.sends.iter().flat_map(|send| &send.values).copied().collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let at = x.of_rows(device, &rows)?;
        let values = T::device(device).zeros(at.len())?;
        Ok(Some(Self { at, values }))
    }
}

impl<T: Scalar> Ghosts<T> {
    fn prepare(device: &dyn AnyDevice, edge: &Edge, y: &Positions) -> Result<Option<Self>> {
        let n_ghosts = edge.halo.n_ghosts();
        if n_ghosts == 0 {
            return Ok(None);
        }
        let rows = y.of_rows(device, &edge.boundary_rows)?;
        Ok(Some(Self {
            values: T::device(device).zeros(n_ghosts * y.shape.columns())?,
            sums: <T::Accum as Element>::device(device).zeros(rows.len())?,
            rows,
        }))
    }
}

/// What moves in products with several right-hand sides: values of several columns where one product has one.
#[derive(Debug)]
pub(super) struct BlockEdges<T: Value> {
    of_parts: Vec<Edge>,
    peers: Option<Arc<dyn Peers>>,
    /// Of the last product.
    last: Option<(Blocks, Edges<T>)>,
}

/// The shapes of the blocks of a product, and how many values their vectors have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) x: (BlockShape, usize),
    pub(super) y: (BlockShape, usize),
}

impl<T: Scalar> BlockEdges<T> {
    /// For blocks of these shapes: those of the last product if it had the same. Collective among peers where it had as many columns.
    pub(super) fn of(&mut self, a: &PartsMatrix<T>, blocks: Blocks) -> Result<&mut Edges<T>> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != blocks) {
            let columns = blocks.x.0.columns();
            let link = match self.last.take() {
                Some((last, Edges { link, .. })) if last.x.0.columns() == columns => link,
                _ => self.link(&a.parts, columns)?,
            };
            let (mut sent, mut ghosts) = (vec![], vec![]);
            for (part, (device, edge)) in a.parts.devices.iter().zip(&self.of_parts).enumerate() {
                sent.push(Sent::prepare(&**device, edge, &Positions::of_block(&a.cols, blocks.x, part))?);
                ghosts.push(Ghosts::prepare(&**device, edge, &Positions::of_block(&a.rows, blocks.y, part))?);
            }
            self.last = Some((blocks, Edges { sent, ghosts, link }));
        }
        let (_, edges) = self.last.as_mut().expect("made above");
        Ok(edges)
    }

    fn link(&self, parts: &Parts, columns: usize) -> Result<Link> {
        let halos: Vec<&Halo> = self.of_parts.iter().map(|edge| &edge.halo).collect();
        let row_bytes = T::DTYPE.bytes() * columns;
        match &self.peers {
            Some(peers) => Link::peers(&**peers, halos[0], row_bytes),
            None if parts.reach_each_other => Ok(Link::devices_in_rows(&halos, columns)),
            None => Ok(Link::host(&halos, row_bytes)),
        }
    }
}

impl<T: Scalar> PartsMatrix<T> {
    /// Of parts that are all here, or of one whose others are with the peers; then it is collective.
    pub(super) fn prepare(
        to: &Parts,
        [rows, cols]: [Arc<Ranges>; 2],
        parts: Vec<Part<T>>,
        peers: Option<Arc<dyn Peers>>,
        options: &Options,
    ) -> Result<Self> {
        let start = Instant::now();
        let stats = stats(&parts, cols.len() as usize);
        let (mut locals, mut remotes, mut sent, mut ghosts) = (vec![], vec![], vec![], vec![]);
        let of_remote = Options { values: options.values, blocks: options.blocks, ..Options::default() };
        let edge =
            |part: &Part<T>| Edge { halo: part.halo().clone(), boundary_rows: part.boundary_rows().to_vec() };
        let of_parts: Vec<Edge> = parts.iter().map(edge).collect();
        let from_device_to_device = peers.is_none() && to.reach_each_other;
        for ((device, part), edge) in to.devices.iter().zip(&parts).zip(&of_parts) {
            let (device, local) = (&**device, part.local());
            let packs = !from_device_to_device || packs(&edge.halo);
            let of_x = Positions::of_vector(local.n_cols());
            sent.push(if packs { Sent::prepare(device, edge, &of_x)? } else { None });
            ghosts.push(Ghosts::prepare(device, edge, &Positions::of_vector(local.n_rows()))?);
            let prepare = |a: &Csr<T, u64>, options| T::device(device).prepare(a.view().erase(), options);
            let has_ghosts = edge.halo.n_ghosts() > 0;
            remotes.push(has_ghosts.then(|| prepare(part.remote(), &of_remote)).transpose()?);
            locals.push(prepare(local, options)?);
        }
        let halos: Vec<&Halo> = of_parts.iter().map(|edge| &edge.halo).collect();
        let value_bytes = T::DTYPE.bytes();
        let link = match &peers {
            Some(peers) => Link::peers(&**peers, halos[0], value_bytes)?,
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
            remotes,
            edges: Mutex::new(Edges { sent, ghosts, link }),
            blocks: options.blocks.then(|| Mutex::new(BlockEdges { of_parts, peers, last: None })),
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
