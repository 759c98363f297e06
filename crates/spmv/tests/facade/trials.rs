//! `Options::tune` on every device, several devices and device with cores.

use spmv::{
    BackendKind, Context, Csr, Error, Options,
    hetero::{Split, Steering},
    plan::{Algorithm, Tune},
};

/// Small integers, so that sums are exact in any order.
fn matrix() -> Csr<f32> {
    let lens = [4u32, 0, 1, 9];
    let row =
        |r: u32| (0..lens[r as usize % 4]).map(move |i| (r, (5 * r + 13 * i) % 300, 1.0 + (i % 3) as f32));
    Csr::from_coo(400, 300, &(0..400).flat_map(row).collect::<Vec<_>>()).expect("valid")
}

fn x() -> Vec<f32> {
    (0..300).map(|i| (i % 5) as f32 - 2.0).collect()
}

fn tuned() -> Options {
    Options { tune: Tune::Quick, ..Options::default() }
}

fn trials_in(explained: &str) -> usize {
    explained.matches("\n  trial: ").count()
}

#[test]
fn a_choice_by_trials_is_right_and_can_be_given_again_on_every_device() -> Result<(), Error> {
    let a = matrix();
    let expected = Context::with(BackendKind::Cpu)?.prepare(&a)?.multiply(&x())?;
    for context in Context::every(&BackendKind::ALL).0 {
        let tuned = context.prepare_with(&a, &tuned())?;
        let (plan, backend) = (tuned.plan(), context.backend());
        assert_eq!(tuned.multiply(&x())?, expected, "{backend}: {}", plan.explain());
        assert!(
            plan.trials.len() > 1 && trials_in(&tuned.explain()) == plan.trials.len(),
            "{}",
            plan.explain()
        );
        assert!(plan.trials[0].seconds.is_some_and(|s| s > 0.0), "{backend}: {}", plan.explain());
        let untuned = context.plan(&a, &Options::default())?;
        assert_eq!(plan.trials[0].choice, untuned.choice(), "{backend}: the planned one is the first");
        let saved = plan.choice().to_string();
        let again = context.prepare_with(&a, &Options::default().with_choice(saved.parse().unwrap()))?;
        let (one, other) = (plan, again.plan());
        assert_eq!(
            (one.choice(), one.kernel, one.repair),
            (other.choice(), other.kernel, other.repair),
            "{backend}"
        );
        assert_eq!((one.max_entries, one.max_rows), (other.max_entries, other.max_rows), "{backend}");
        assert_eq!(again.multiply(&x())?, expected, "{backend}: {saved}");
        assert_eq!(trials_in(&again.explain()), 0);
    }
    Ok(())
}

#[test]
fn each_part_is_tuned_for_itself() -> Result<(), Error> {
    let (a, one) = (matrix(), Context::with(BackendKind::Cpu)?);
    let two = Context::devices(&[one.clone(), one.clone()])?;
    let tuned = two.prepare_with(&a, &tuned())?;
    assert_eq!(tuned.multiply(&x())?, one.prepare(&a)?.multiply(&x())?);
    let trials = tuned.plan().trials.len();
    assert!(trials > 1 && trials_in(&tuned.explain()) > trials, "{}", tuned.explain());
    Ok(())
}

#[test]
fn in_co_execution_the_device_share_is_tuned_where_a_split_is_given() -> Result<(), Error> {
    let (a, one) = (matrix(), Context::with(BackendKind::Cpu)?);
    let expected = one.prepare(&a)?.multiply(&x())?;
    let both = one.with_host_cores()?;
    let searched = both.prepare_with(&a, &tuned())?;
    assert!(
        searched.multiply(&x())? == expected && trials_in(&searched.explain()) == 0,
        "{}",
        searched.explain()
    );
    let given = both.steered(Steering { split: Some(Split::by_rows(200)), ..Steering::default() });
    let options = Options { algorithm: Algorithm::CsrVector, ..tuned() };
    let given = given.prepare_with(&a, &options)?;
    assert_eq!(given.multiply(&x())?, expected);
    assert!(given.plan().trials.len() > 1 && trials_in(&given.explain()) > 1, "{}", given.explain());
    Ok(())
}
