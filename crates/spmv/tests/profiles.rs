//! The profile that a context plans by: the one of its device in the folder that `SPMV_PROFILES` names, or the built-in one.

use std::path::Path;
use std::process::Command;

use spmv::{
    BackendKind, Context, Csr, Dtype, Options,
    plan::{Algorithm, Profile},
};

/// Run by the other tests in a process of its own, with the folder named.
#[test]
#[ignore = "run by the others"]
fn child() {
    let context = Context::with(BackendKind::Cpu).unwrap();
    let a = Csr::from_coo(2, 2, &[(0, 1, 2.0f32), (1, 0, 3.0)]).unwrap();
    let plan = context.plan(&a, &Options::default()).unwrap();
    let built_in = context.profile(Dtype::F32).unwrap().is_built_in();
    let problem = context.profile_problem().is_some();
    println!("built in {built_in}, problem {problem}, predicts {}", plan.seconds().is_some());
    assert_ne!(plan.algorithm, Algorithm::Auto);
    assert_eq!(context.prepare(&a).unwrap().multiply(&[1.0, 10.0]).unwrap(), [20.0, 3.0]);
}

fn output_of_child(folder: &std::path::Path) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]).env("SPMV_PROFILES", folder);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_fitted_profile_takes_the_place_of_the_built_in_one_and_a_bad_one_does_not() {
    let folder = std::env::temp_dir().join(format!("spmv-profiles-{}", std::process::id()));
    assert!(output_of_child(&folder).contains("built in true, problem false, predicts true"));
    let context = Context::with(BackendKind::Cpu).unwrap();
    let mut fitted = Profile::new(context.caps());
    let name = Profile::path("cpu", context.caps()).unwrap();
    let path = folder.join(name.file_name().unwrap());
    fitted.save(&path).unwrap();
    assert!(output_of_child(&folder).contains("built in true, problem false"), "it knows no type");
    fitted.rates = Profile::cpu().rates.clone();
    fitted.save(&path).unwrap();
    assert!(output_of_child(&folder).contains("built in false, problem false, predicts true"));
    std::fs::write(&path, "{}").unwrap();
    assert!(output_of_child(&folder).contains("built in true, problem true, predicts true"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_folder_of_profiles_that_was_asked_for_comes_before_the_environment() {
    let folder = std::env::temp_dir().join(format!("spmv-asked-profiles-{}", std::process::id()));
    let open = |folder: &Path| Context::builder().backend(BackendKind::Cpu).profiles(folder).build().unwrap();
    let context = open(&folder);
    assert!(context.profile(Dtype::F32).unwrap().is_built_in());
    let mut fitted = Profile::new(context.caps());
    fitted.rates = Profile::cpu().rates.clone();
    fitted.save(&Profile::path_in(&folder, "cpu", context.caps())).unwrap();
    assert!(!open(&folder).profile(Dtype::F32).unwrap().is_built_in());
    std::fs::remove_dir_all(&folder).unwrap();
}
