//! Measured times, as a user asks for them. Not `required-features`: the bench turns the feature on, so that
//! `cargo xtask test` runs these too.
#![cfg(feature = "fit")]

use std::path::Path;

use spmv::{
    BackendKind, Context, Csr, Dtype, Error, Options,
    plan::{Algorithm, Profile},
};

/// Entries of the largest matrix: a second for a type.
const FEW: usize = 100;

fn open(folder: &Path) -> Context {
    Context::builder().backend(BackendKind::Cpu).profiles(folder).build().unwrap()
}

fn matrix() -> Csr<f32> {
    Csr::from_coo(2, 2, &[(0, 1, 2.0), (1, 0, 3.0)]).unwrap()
}

#[test]
fn a_fit_is_followed_by_its_context_and_by_the_next_that_opens_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let context = open(folder.path());
    assert!(context.profile(Dtype::F32).unwrap().is_built_in());
    let mut seen = Vec::new();
    let fit = context.fit().types(&[Dtype::F32]).max_entries(FEW).progress(|p| seen.push(p.clone()));
    let fitted = fit.run().unwrap();

    assert!(seen.iter().map(|p| p.done).eq(1..=seen.len()) && seen.iter().all(|p| p.of == seen.len()));
    assert_eq!(seen[0].to_string(), format!("1/{}: f32, even, 10 rows of 3 entries", seen.len()));
    assert_eq!((&fitted.path, &fitted.replaced), (&context.profile_path().unwrap(), &None));
    assert!(fitted.path.starts_with(folder.path()));
    let of_merge_path = fitted.accuracy.iter().find(|a| a.algorithm == Algorithm::MergePath).unwrap();
    assert_eq!((of_merge_path.value, of_merge_path.n_matrices), (Dtype::F32, seen.len()));
    assert!(fitted.accuracy.iter().all(|a| 0.0 <= a.median && a.median <= a.ninth_decile));

    for context in [&fitted.context, &open(folder.path())] {
        assert!(!context.profile(Dtype::F32).unwrap().is_built_in());
        assert!(context.profile(Dtype::F64).unwrap().is_built_in(), "it was not asked for");
        assert_eq!(context.profile_problem(), None);
        let plan = context.plan(&matrix(), &Options::default()).unwrap();
        assert!(plan.seconds().is_some_and(|seconds| seconds > 0.0));
        let text = plan.explain();
        assert!(text.contains("predicted: ") && !text.contains("of another processor"), "{text}");
    }
    let text = context.plan(&matrix(), &Options::default()).unwrap().explain();
    assert!(text.contains("of another processor; Context::fit"), "{text}");
}

#[test]
fn vectors_of_the_context_that_was_fitted_belong_to_the_new_one_too() {
    let folder = tempfile::tempdir().unwrap();
    let context = open(folder.path());
    let x = context.upload(&[1.0f32, 10.0]).unwrap();
    let fitted = context.fit().types(&[Dtype::F32]).max_entries(30).run().unwrap().context;
    let (a, mut y) = (fitted.prepare(&matrix()).unwrap(), context.zeros(2).unwrap());
    a.apply(1.0, &x, 0.0, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [20.0, 3.0]);
}

#[test]
fn what_a_profile_has_besides_stays_and_a_useless_one_goes() {
    let folder = tempfile::tempdir().unwrap();
    let context = open(folder.path());
    let path = context.profile_path().unwrap();
    let mut kept = Profile::new(context.caps());
    kept.rates = Profile::cpu().rates.clone();
    kept.save(&path).unwrap();
    let fit = || context.fit().types(&[Dtype::F32]).max_entries(30).run();
    let fitted = fit().unwrap().context;
    let of = |value| fitted.profile(value).unwrap();
    assert_eq!(of(Dtype::F64).rates("ell", Dtype::F64), kept.rates("ell", Dtype::F64));
    assert_ne!(of(Dtype::F32).rates("ell", Dtype::F32), kept.rates("ell", Dtype::F32));

    std::fs::write(&path, "{}").unwrap();
    let problem = open(folder.path()).profile_problem().unwrap().to_owned();
    assert!(problem.ends_with("make it anew with Context::fit (feature fit)"), "{problem}");
    let fitted = fit().unwrap();
    assert!(fitted.replaced.unwrap().contains("is damaged"));
    assert_eq!(open(folder.path()).profile_problem(), None);
}

#[test]
fn what_cannot_be_fitted_or_kept_is_refused_before_anything_is_timed() {
    let folder = tempfile::tempdir().unwrap();
    let context = open(&folder.path().join("folder"));
    let untimed = |p: &spmv::fit::Progress| panic!("{p}");
    let with_cores = context.with_host_cores().unwrap();
    match with_cores.fit().progress(untimed).run().unwrap_err() {
        Error::Unsupported { way_out, .. } => {
            assert!(way_out.starts_with("fit the context of the device alone"))
        }
        other => panic!("{other}"),
    }
    // A folder where the file should be.
    let path = context.profile_path().unwrap();
    std::fs::create_dir_all(&path).unwrap();
    match context.fit().progress(untimed).run().unwrap_err() {
        Error::Profile { path: named, .. } => assert_eq!(named, path),
        other => panic!("{other}"),
    }
    assert!(Error::NoProfileFolder.to_string().contains("SPMV_PROFILES or Context::builder().profiles(..)"));
    let in_parts = Context::devices(&[context.clone(), context.clone()]).unwrap();
    let refused = in_parts.fit().run().unwrap_err();
    assert!(refused.to_string().contains("fit the context of each device"), "{refused}");
}
