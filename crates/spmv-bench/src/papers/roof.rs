//! How fast a device reads its memory.

use spmv::{
    Dtype, Options,
    fit::Runs,
    plan::{Algorithm, RowStats},
};
use spmv_io::generate;

use super::scene::Scene;
use crate::bench::devices::Target;
use crate::bench::report::Cache;

/// Full diagonals of the matrix that is read, and its rows: half a gigabyte in single precision, beyond any cache.
const DIAGONALS: usize = 32;
const ROWS: usize = 4 << 20;
/// The rows of a preview.
const FEW_ROWS: usize = 1 << 18;

/// GB/s that the memory of a device delivers: on cores a plain sum, on a GPU the product of full diagonals, which reads
/// consecutive numbers and nothing else. `None` if the device cannot run it.
///
/// # Errors
/// If the device fails.
pub(crate) fn read_gbs(scene: &Scene<'_>, target: &Target) -> anyhow::Result<Option<f64>> {
    if target.is_in_host_memory() {
        return Ok(Some(scene.read_gbs));
    }
    if target.obstacle(Dtype::F32, Cache::Warm).is_some() {
        return Ok(None);
    }
    let n = if scene.quick { FEW_ROWS } else { ROWS };
    let a = generate::banded(n, DIAGONALS / 2, DIAGONALS / 2 - 1, 1)?.map_values(|value| value as f32);
    let options = Options { algorithm: Algorithm::Dia, ..Options::default() };
    let Some(runs) = Runs::of::<f32, _>(&target.context, &a, &options)? else { return Ok(None) };
    let rows = RowStats::of(a.view());
    let bytes = (rows.nnz + 2 * rows.n_rows) * size_of::<f32>();
    Ok(Some(bytes as f64 / runs.median() / 1e9))
}
