//! The devices that hold parts, and how what they hold is cut.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use spmv_exec::Error;
use spmv_partition::Ranges;

use crate::erased::AnyDevice;
use crate::parts::peers::Peers;

/// Devices that hold a part each, and who holds the others.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) devices: Arc<[Arc<dyn AnyDevice>]>,
    pub(super) peers: Option<Arc<dyn Peers>>,
    /// Whether each device can copy to the memory of each other one.
    pub(super) reach_each_other: bool,
    /// How vectors of each length are cut.
    ranges: Arc<Mutex<HashMap<usize, Arc<Ranges>>>>,
}

pub(super) fn unsupported(what: &str, way_out: &str) -> Error {
    spmv_backend::Error::unsupported("a context of parts", what, way_out).into()
}

impl Parts {
    /// Panics without devices.
    pub(super) fn new(devices: Vec<Arc<dyn AnyDevice>>, peers: Option<Arc<dyn Peers>>) -> Self {
        assert!(!devices.is_empty(), "parts are on devices");
        let reaches_all = |device: &Arc<dyn AnyDevice>| devices.iter().all(|peer| device.reaches(&**peer));
        let reach_each_other = devices.iter().all(reaches_all);
        Self { devices: devices.into(), peers, reach_each_other, ranges: Arc::default() }
    }

    /// Whether what these devices hold can be used with what the others hold: they are the same ones, in the same order, with the same
    /// peers.
    pub(super) fn is(&self, other: &Self) -> bool {
        let is_device = |(a, b): (&Arc<dyn AnyDevice>, &Arc<dyn AnyDevice>)| Arc::ptr_eq(a, b);
        let are_devices = Arc::ptr_eq(&self.devices, &other.devices)
            || self.devices.len() == other.devices.len()
                && self.devices.iter().zip(&*other.devices).all(is_device);
        let are_peers = match (&self.peers, &other.peers) {
            (None, None) => true,
            (Some(peers), Some(others)) => Arc::ptr_eq(peers, others),
            _ => false,
        };
        are_devices && are_peers
    }

    /// How vectors of a length are cut: as they were first cut, or else as `first` says for so many parts.
    pub(super) fn ranges(&self, len: usize, first: impl FnOnce(usize) -> Ranges) -> Arc<Ranges> {
        let mut all = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(len).or_insert_with(|| Arc::new(first(self.devices.len()))))
    }

    pub(super) fn evenly(&self, len: usize) -> Arc<Ranges> {
        self.ranges(len, |parts| Ranges::even(len as u64, parts))
    }
}
