//! How large generated matrices may be.

use spmv::{DeviceCaps, DeviceKind, Dtype};
use spmv_model::{Format, Spread};

use crate::memory;

/// Shares of the memory that a fit may take of what the host has free, and of a device's own.
const HOST_SHARE: f64 = 0.8;
const DEVICE_SHARE: f64 = 0.85;
/// What is assumed where neither the system nor `--megabytes` says how much memory there is.
const UNKNOWN: u64 = 8 << 30;

/// Bytes that a matrix with all its copies may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// The matrix in CSR form, if one says so.
    pub(super) csr: Option<u64>,
    /// What the host has free.
    pub(super) host: u64,
    /// What the device has for itself; `None` if it takes from the host's.
    pub(super) device: Option<u64>,
}

impl Budget {
    pub(super) fn of(caps: &DeviceCaps, csr: Option<u64>) -> Self {
        // A device that does not say how large it is has at least its largest buffer, if that has a limit.
        let own = caps.memory_bytes.unwrap_or(caps.max_buffer_bytes);
        let device = (caps.kind == DeviceKind::DiscreteGpu && own != u64::MAX).then_some(own);
        Self { csr, host: memory::free_bytes().unwrap_or(UNKNOWN), device }
    }

    /// Entries of the largest matrix of a format that fits everywhere.
    pub(super) fn max_entries(&self, format: Format, spread: Spread, value: Dtype) -> u64 {
        let entry = (4 + value.bytes()) as f64;
        // Lengths spread to twice the mean, the longest of very many normal ones to two and a half times.
        let layout = match (format, spread) {
            (Format::Ell, Spread::Uniform) => 2.0,
            (Format::Ell, Spread::Normal) => 2.5,
            _ => 1.0,
        };
        let host = HOST_SHARE * self.host as f64;
        let bytes = match self.device {
            // The next matrix is generated meanwhile.
            Some(own) => (host / 2.0).min(DEVICE_SHARE * own as f64 / layout),
            None => host / (1.0 + layout),
        };
        let bytes = self.csr.map_or(bytes, |csr| bytes.min(csr as f64));
        // Row offsets have 32 bits; drawn lengths miss their mean by a little.
        (bytes / entry).min(0.99 * f64::from(u32::MAX)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spmv_model::{Extent, Grid};

    /// The machine that the paper's grid was sized for here: 132 multiprocessors, 139 GiB, a host of 128 GiB.
    const H200: Budget = Budget { csr: None, host: 128 << 30, device: Some(139 << 30) };

    #[test]
    fn an_h200_holds_every_point_of_the_papers_grid() {
        for (format, spread) in Format::ALL.into_iter().flat_map(|f| Spread::ALL.map(|s| (f, s))) {
            let rows = if format == Format::CsrVector { 16_896 } else { 270_336 };
            for value in [Dtype::F32, Dtype::F64] {
                let most = H200.max_entries(format, spread, value);
                let grid = Grid::of(format, spread, rows, most, Extent::Product);
                assert!(grid.left_out.is_empty() && grid.too_narrow.is_empty(), "{format} {spread} {value}");
            }
        }
    }

    #[test]
    fn the_least_of_all_limits_counts() {
        let entries = |budget: Budget| budget.max_entries(Format::Ell, Spread::Fixed, Dtype::F32);
        assert_eq!(entries(Budget { csr: Some(8_000), ..H200 }), 1_000);
        assert_eq!(entries(Budget { host: 20_000, ..H200 }), 1_000);
        assert_eq!(entries(Budget { host: 20_000, device: None, csr: None }), 1_000);
        assert_eq!(entries(Budget { device: Some(10_000), ..H200 }), 1_062);
        let padded = H200.max_entries(Format::Ell, Spread::Normal, Dtype::F64);
        assert!(padded < H200.max_entries(Format::Jad, Spread::Normal, Dtype::F64));
        assert!(entries(Budget { host: 1 << 50, device: None, csr: None }) < 1 << 32);
    }
}
