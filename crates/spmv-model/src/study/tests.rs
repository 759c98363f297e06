use proptest::prelude::*;

use super::*;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs().max(1.0)
}

/// T at I = 40: 10 + 2 P up to 100 entries, then 50 + 3 P.
fn by_length(per_row: f64) -> f64 {
    if per_row <= 100.0 { 10.0 + 2.0 * per_row } else { 50.0 + 3.0 * per_row }
}

/// All lengths at I = 40, and all waves at a short and a long length, whose times are in proportion to waves.
fn samples() -> Vec<Sample> {
    let lengths = [10.0, 50.0, 70.0, 100.0, 200.0, 300.0, 400.0].map(|per_row| (40.0, per_row));
    let waves =
        [1.0, 2.0, 5.0, 9.0].into_iter().flat_map(|waves| [50.0, 300.0].map(|per_row| (waves, per_row)));
    let sample = |(waves, per_row)| Sample { waves, per_row, seconds: by_length(per_row) * waves / 40.0 };
    lengths.into_iter().chain(waves).map(sample).collect()
}

#[test]
fn csr_vector_is_the_product_of_two_lines_in_two_pieces() {
    let fit = Fit::of(Format::CsrVector, &samples(), Some(100.0)).unwrap();
    for (waves, per_row) in [(2.0, 10.0), (4.0, 30.0), (1.0, 100.0), (3.0, 300.0), (80.0, 1000.0)] {
        assert!(near(fit.fitted.seconds(waves, per_row), by_length(per_row) * waves / 40.0));
    }
    let kinds: Vec<_> = fit.lines.iter().map(|line| (line.of, line.at)).collect();
    let (by_length, by_waves) = (Quantity::TimeByLength, Quantity::TimeByWaves);
    assert_eq!(
        kinds,
        [(by_length, Some(40.0)), (by_waves, Some(50.0)), (by_length, Some(40.0)), (by_waves, Some(300.0))]
    );
    assert!(fit.lines.iter().all(|line| line.rms() < 1e-9));
}

#[test]
fn the_break_is_where_the_samples_say_unless_one_is_given() {
    let limit = |given| match Fit::of(Format::CsrVector, &samples(), given).unwrap().fitted {
        Fitted::ByBunch { limit, .. } => limit,
        Fitted::ByLane { .. } => f64::NAN,
    };
    assert_eq!([limit(None), limit(Some(1024.0))], [100.0, 1024.0]);
    let fit = Fit::of(Format::CsrVector, &samples(), Some(1024.0)).unwrap();
    let [measured, paper] = fit.breaks[..] else { panic!("{:?}", fit.breaks) };
    assert!(measured.rms_s < 1e-9 && paper.rms_s > 10.0, "{:?}", fit.breaks);
    assert!(near(fit.lines[0].rms(), paper.rms_s), "one line through all");
}

#[test]
fn lengths_on_either_side_of_the_limit_make_one_line_and_repeats_do_not_count() {
    let sample = |waves, per_row| Sample { waves, per_row, seconds: waves * (1.0 + per_row) };
    // Three times the same at I = 5, two lengths at I = 1.
    let samples = [(5.0, 4.0), (5.0, 4.0), (5.0, 4.0), (1.0, 4.0), (1.0, 2000.0)].map(|(i, p)| sample(i, p));
    let fitted = Fit::of(Format::CsrVector, &samples, Some(1024.0)).unwrap().fitted;
    assert!(near(fitted.seconds(3.0, 100.0), 303.0), "{}", fitted.seconds(3.0, 100.0));
}

#[test]
fn the_others_are_lines_whose_slopes_are_lines() {
    // f(I) = 3 I + 1, E(I) at P = 16: 20 I + 6.
    let time = |waves: f64, per_row: f64| (3.0 * waves + 1.0) * (per_row - 16.0) + 60.0 * waves + 26.0;
    let mut samples = Vec::new();
    for waves in [1.0, 2.0, 5.0] {
        let sample = |per_row| Sample { waves, per_row, seconds: time(waves, per_row) };
        samples.extend([4.0, 8.0, 16.0, 128.0].map(sample));
    }
    // A point that was left out, as for its size.
    samples.pop();
    for format in [Format::CsrScalar, Format::Ell, Format::Jad] {
        let fit = Fit::of(format, &samples, None).unwrap();
        for (waves, per_row) in [(1.0, 4.0), (3.5, 9.0), (40.0, 3.0)] {
            assert!(near(fit.fitted.seconds(waves, per_row), time(waves, per_row)), "{format:?}");
        }
        let Fitted::ByLane { per_row, .. } = fit.fitted else { panic!("{:?}", fit.fitted) };
        assert_eq!(per_row, 16.0, "the nearest to the paper's 32");
        assert!(fit.samples.iter().all(|s| s.error() < 1e-12));
    }
}

#[test]
fn residuals_are_what_is_left_of_the_samples() {
    let sample = |waves, per_row, seconds| Sample { waves, per_row, seconds };
    let samples =
        [sample(1.0, 4.0, 3.0), sample(1.0, 8.0, 6.0), sample(1.0, 12.0, 3.0), sample(2.0, 4.0, 6.0)];
    let fit = Fit::of(Format::Jad, &samples, None).unwrap();
    // The line at I = 1 is y = 4.
    assert_eq!(fit.lines[0].residuals().collect::<Vec<_>>(), [-1.0, 2.0, -1.0]);
    assert!(near(fit.lines[0].rms(), 2.0f64.sqrt()));
    let text = serde_json::to_string(&fit).unwrap();
    assert_eq!(serde_json::from_str::<Fit>(&text).unwrap(), fit);
}

#[test]
fn too_few_samples_are_an_error() {
    let sample = |waves, per_row| Sample { waves, per_row, seconds: 1.0 };
    for format in Format::ALL {
        assert!(Fit::of(format, &[], None).is_err());
        assert!(Fit::of(format, &[sample(1.0, 4.0), sample(1.0, 8.0)], None).is_err());
        assert!(Fit::of(format, &[sample(1.0, 4.0), sample(2.0, 4.0)], None).is_err());
    }
}

proptest! {
    #[test]
    fn no_samples_make_a_prediction_panic_or_negative(
        samples in prop::collection::vec((0u32..5, 0u32..9, 0.0..1e-3f64), 0..24),
        waves in prop_oneof![Just(0.0), Just(f64::MAX), 0.0..1e6f64],
        per_row in prop_oneof![Just(0.0), Just(f64::MAX), 0.0..1e6f64],
        limit in prop::option::of(Just(3.0)),
    ) {
        let sample = |(waves, per_row, seconds): &(u32, u32, f64)| Sample {
            waves: f64::from(*waves),
            per_row: f64::from(*per_row),
            seconds: *seconds,
        };
        let samples: Vec<_> = samples.iter().map(sample).collect();
        for format in Format::ALL {
            if let Ok(fit) = Fit::of(format, &samples, limit) {
                prop_assert!(fit.fitted.seconds(waves, per_row) >= 0.0);
            }
        }
    }
}
