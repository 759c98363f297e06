//! Matrices that are needed again after all others were measured.

use super::super::inputs::{Input, Loaded};

/// Matrices that stay in memory, so that they need not be read or generated again; as many as there is room for.
pub(crate) struct MatrixCache {
    kept: Vec<(usize, Loaded)>,
    capacity_bytes: usize,
}

impl MatrixCache {
    /// Some GB: all twins fit, or the classes up to 10^7 nonzeros.
    pub(crate) const CAPACITY_BYTES: usize = 4 << 30;

    pub(crate) fn new(capacity_bytes: usize) -> Self {
        Self { kept: Vec::new(), capacity_bytes }
    }

    /// Keeps input number `at`, if it fits.
    pub(crate) fn keep(&mut self, at: usize, loaded: Loaded) {
        let bytes = bytes(&loaded);
        if bytes <= self.capacity_bytes {
            self.capacity_bytes -= bytes;
            self.kept.push((at, loaded));
        }
    }

    /// Does something with input number `at`, kept or loaded anew.
    ///
    /// # Errors
    /// As [`Input::load`].
    pub(crate) fn with<R>(
        &self,
        at: usize,
        input: &Input,
        f: impl FnOnce(&Loaded) -> R,
    ) -> anyhow::Result<R> {
        match self.kept.iter().find(|(kept, _)| *kept == at) {
            Some((_, loaded)) => Ok(f(loaded)),
            None => Ok(f(&input.load()?)),
        }
    }
}

fn bytes(loaded: &Loaded) -> usize {
    let matrix = &loaded.matrix;
    matrix.nnz() * (size_of::<f64>() + size_of::<u32>()) + (matrix.n_rows() + 1) * size_of::<u32>()
}

#[cfg(test)]
mod tests {
    use spmv::Csr;

    use super::*;

    fn loaded(name: &str) -> Loaded {
        let matrix = Csr::from_coo(1, 1, &[(0, 0, 1.0)]).unwrap();
        Loaded { name: name.into(), twin: false, matrix }
    }

    #[test]
    fn what_fits_is_kept_and_the_rest_is_loaded_anew() {
        let mut matrix_cache = MatrixCache::new(bytes(&loaded("")));
        matrix_cache.keep(3, loaded("kept"));
        matrix_cache.keep(4, loaded("too large"));
        let missing = Input::File("missing.mtx".into());
        let name = |loaded: &Loaded| loaded.name.clone();
        assert_eq!(matrix_cache.with(3, &missing, name).unwrap(), "kept");
        assert!(matrix_cache.with(4, &missing, name).is_err(), "read from a file that is not there");
    }
}
