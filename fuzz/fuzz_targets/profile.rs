//! Any bytes as a profile or as the models of a device and its host: an error, or what survives being written and read
//! again, and predicts without a panic.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use spmv_backend::{DeviceCaps, DeviceKind, KernelId, MemoryModel};
use spmv_core::Dtype;
use spmv_hetero::{CORES_FEATURES, DEVICE_FEATURES, Models, SplitModels, Svr};
use spmv_model::{Fitted, Format, Line, Model, Piece, Profile, Shape, Spread, Work};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    is_profile: bool,
    /// Of a file that is whole, or else the bytes as they are.
    edits: Vec<Edit<'a>>,
    bytes: &'a [u8],
}

/// Some bytes of a file, and what to put there instead of them.
#[derive(Arbitrary, Debug)]
struct Edit<'a> {
    at: u16,
    cut: u8,
    with: With<'a>,
}

#[derive(Arbitrary, Debug)]
enum With<'a> {
    Bytes(&'a [u8]),
    Number(f64),
    Integer(i64),
    Text(&'a str),
}

fuzz_target!(|input: Input<'_>| {
    let whole = if input.is_profile { &*PROFILE } else { &*MODELS };
    let mut bytes = whole.clone();
    for Edit { at, cut, with } in &input.edits {
        let at = usize::from(*at) % (bytes.len() + 1);
        let end = (at + usize::from(*cut)).min(bytes.len());
        let with = match with {
            With::Bytes(bytes) => bytes.to_vec(),
            With::Number(number) => format!("{number:e}").into_bytes(),
            With::Integer(number) => number.to_string().into_bytes(),
            With::Text(text) => format!("{text:?}").into_bytes(),
        };
        bytes.splice(at..end, with);
    }
    if input.edits.is_empty() && !input.bytes.is_empty() {
        bytes = input.bytes.to_vec();
    }
    std::fs::write(&*PATH, bytes).expect("a folder of our own");
    if input.is_profile {
        profile()
    } else {
        models()
    }
    // Nothing is left behind, whenever the process ends.
    std::fs::remove_file(&*PATH).expect("our own file");
});

fn profile() {
    let Ok(profile) = Profile::load(&PATH, &CAPS) else { return };
    profile.save(&PATH).expect("a folder of our own");
    assert_eq!(Profile::load(&PATH, &CAPS).expect("our own file"), profile);
    let work = Work { thread_wakeups: 1.0, slots: 1e6, rows: 1e5, critical_path: 1e3, x_cache_lines: 1e6 };
    for (id, value) in KernelId::ALL.iter().flat_map(|id| Dtype::ALL.map(|value| (*id, value))) {
        let seconds = profile.rates(id.stem(), value).map(|rates| rates.seconds(&work));
        assert!(seconds.is_none_or(|seconds| seconds >= 0.0));
    }
    for model in &profile.models {
        assert!(model.seconds(&Shape { n_rows: 1000, per_row: 7.0 }, true) >= 0.0);
    }
}

fn models() {
    let Ok(models) = Models::load(&PATH, &CAPS, &CAPS) else { return };
    models.save(&PATH).expect("a folder of our own");
    assert_eq!(Models::load(&PATH, &CAPS, &CAPS).expect("our own file"), models);
    for of in &models.values {
        let device = of.device.seconds(&[1.0; DEVICE_FEATURES.len()]);
        let cores = of.cores.seconds(&[1.0; CORES_FEATURES.len()]);
        assert!(device >= 0.0 && cores >= 0.0, "{device} {cores}");
    }
}

static CAPS: LazyLock<DeviceCaps> =
    LazyLock::new(|| DeviceCaps::new("some device", DeviceKind::Other, MemoryModel::Discrete));

/// A file of this process alone, in memory where that is possible.
static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let shared = PathBuf::from("/dev/shm");
    let folder = if shared.is_dir() { shared } else { std::env::temp_dir() };
    folder.join(format!("spmv-fuzz-profile-{}.json", std::process::id()))
});

static PROFILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut profile = Profile::new(&CAPS);
    // Few, so that mutations meet each of them.
    profile.rates = Profile::cpu().rates[..2].to_vec();
    let line = Line { slope: 1e-6, intercept: 0.25 };
    let by_lane = Fitted::ByLane { per_entry: line, by_waves: line, per_row: 4.0 };
    let piece = Piece { by_length: line, by_waves: line, t0: 0.5 };
    let by_bunch = Fitted::ByBunch { short: piece, long: Some(piece), limit: 1024.0 };
    for (format, fitted) in [(Format::Ell, by_lane), (Format::CsrVector, by_bunch)] {
        profile.put(Model {
            format,
            spread: Spread::Fixed,
            value: Dtype::F32.name().into(),
            wave_rows: 100,
            fitted,
        });
    }
    serde_json::to_vec(&profile).expect("names, numbers and lists")
});

static MODELS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let svr = |n: usize| Svr {
        means: vec![0.5; n],
        deviations: vec![1.0; n],
        width: 2.0,
        vectors: vec![vec![0.1; n]; 2],
        weights: vec![1.0, -0.5],
        bias: -9.0,
    };
    let mut models = Models::new(&CAPS, &CAPS);
    models.put(SplitModels {
        value: Dtype::F32.name().into(),
        device: svr(DEVICE_FEATURES.len()),
        cores: svr(CORES_FEATURES.len()),
    });
    serde_json::to_vec(&models).expect("names, numbers and lists")
});
