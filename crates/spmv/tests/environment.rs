//! What a builder asks for wins over the environment, and the rest is the environment's.

use std::process::Command;

use spmv::{BackendKind, Context, Error};

/// Run by the other test in a process of its own, with the variables set.
#[test]
#[ignore = "run by the other"]
fn child() {
    assert!(matches!(Context::auto(), Err(Error::UnknownBackend(_))));
    let context = Context::builder().backend(BackendKind::Cpu).build().unwrap();
    assert_eq!(context.backend(), BackendKind::Cpu);
    #[cfg(feature = "opencl")]
    {
        let reason = |builder: spmv::ContextBuilder| match builder.backend(BackendKind::OpenCl).build() {
            Err(Error::NoBackend { tried }) => tried[0].reason.clone(),
            other => panic!("{other:?}"),
        };
        // Where there is no OpenCL at all, the reason is that.
        let by_environment = reason(Context::builder());
        let by_builder = reason(Context::builder().device("by builder"));
        assert!(!by_environment.contains("by builder") && !by_builder.contains("by environment"));
        assert_eq!(by_environment.contains("by environment"), by_builder.contains("by builder"));
    }
}

#[test]
fn a_builder_wins_over_the_environment() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--ignored", "--nocapture"]);
    command.env("SPMV_BACKEND", "abacus").env("SPMV_OPENCL_DEVICE", "by environment");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
