//! Ours as users get it: what `spmv::Context` prepares on the device, by its options and its profiles.

use anyhow::ensure;
use spmv::{
    Context, Dtype, Options,
    plan::{Algorithm, Fixup, Plan, Profile, Repair, Tiling},
};
use spmv_backend::Backend;
use spmv_exec::Device;

/// A backend whose plans follow the profiles that a context has of the same device.
///
/// The comparison needs the type of its backend, for addresses and events, which a context hides.
///
/// # Errors
/// Whatever the driver says about a new stream.
pub(super) fn device<B: Backend>(backend: B, context: &Context) -> spmv_exec::Result<Device<B>> {
    let mut profiles: Vec<Profile> =
        Dtype::ALL.iter().filter_map(|value| context.profile(*value)).cloned().collect();
    // A device takes the first that knows a type, and contexts ask those of this very device first.
    profiles.sort_by_key(Profile::is_built_in);
    Device::with_profiles(backend, profiles)
}

/// What a user gives to `prepare_with`, and for `auto` without a tiling what `prepare` takes.
pub(super) fn options(algorithm: Algorithm, tiling: Option<Tiling>) -> Options {
    Options { algorithm, tiling, ..Options::default() }
}

/// The options under which a graph of several runs can be captured: those that were asked for, unless the host would repair.
///
/// A graph holds no work of the host. Where the host maps device memory, as with managed memory, the same kernel is taken
/// with its repair on the device.
pub(super) fn for_graphs(asked: Options, plan: &Plan) -> Options {
    match plan.repair {
        Repair::Host => Options {
            algorithm: plan.algorithm,
            tiling: Some(plan.kernel.tiling),
            fixup: Fixup::Device,
            ..asked
        },
        _ => asked,
    }
}

/// # Errors
/// If what was prepared is not what the context plans, but for a repair that moved from the host.
pub(super) fn check_same(users: &Plan, prepared: &Plan) -> anyhow::Result<()> {
    ensure!(
        (users.algorithm, users.kernel) == (prepared.algorithm, prepared.kernel)
            && (users.repair == prepared.repair || users.repair == Repair::Host),
        "a user's context would run {}, and {} was prepared; open both with the same profiles and environment",
        users.kernel,
        prepared.kernel
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use spmv::{BackendKind, Csr};
    use spmv_cpu::Cpu;

    use super::super::flush::Flushing;
    use super::*;

    fn on_cpu() -> (Device<Flushing<Cpu>>, Context) {
        let context = Context::with(BackendKind::Cpu).unwrap();
        let backend = Flushing::new(Cpu::open(spmv_cpu::Options::default()).unwrap());
        (device(backend, &context).unwrap(), context)
    }

    fn diagonal(n: u32) -> Csr<f64> {
        let entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, 1.0)).collect();
        Csr::from_coo(n as usize, n as usize, &entries).unwrap()
    }

    #[test]
    fn auto_is_prepared_as_a_users_context_prepares_it() {
        assert_eq!(options(Algorithm::Auto, None), Options::default());
        let (device, context) = on_cpu();
        for a in [diagonal(3), diagonal(100_000)] {
            let users = context.plan(&a, &Options::default()).unwrap();
            assert!(!users.candidates.is_empty(), "the cpu backend has a profile of every type");
            let options = for_graphs(options(Algorithm::Auto, None), &users);
            // With the same predictions, too: any other option would leave the profile out.
            assert_eq!(device.prepare(a.view(), &options).unwrap().plan(), &users);
        }
    }

    #[test]
    fn every_type_of_values_has_the_contexts_profile() {
        let (device, context) = on_cpu();
        for value in Dtype::ALL {
            assert_eq!(device.profile(value), context.profile(value), "{value}");
        }
    }

    #[test]
    fn a_repair_by_the_host_moves_to_the_device_and_nothing_else_changes() {
        let (device, context) = on_cpu();
        let a = diagonal(1000);
        let asked = options(Algorithm::SpeculativeSegmentedSum, None);
        let users = context.plan(&a, &asked).unwrap();
        assert_eq!(users.repair, Repair::Host, "the host maps the cpu backend's memory");
        let prepared = device.prepare(a.view(), &for_graphs(asked, &users)).unwrap();
        assert_eq!(prepared.plan().repair, Repair::Device);
        check_same(&users, prepared.plan()).unwrap();
    }

    #[test]
    fn another_kernel_than_the_users_is_an_error() {
        let (device, context) = on_cpu();
        let a = diagonal(1000);
        let users = context.plan(&a, &options(Algorithm::MergePath, None)).unwrap();
        let other = device.prepare(a.view(), &options(Algorithm::CsrScalar, None)).unwrap();
        let e = check_same(&users, other.plan()).unwrap_err().to_string();
        assert!(e.contains("merge_path") && e.contains("csr_scalar"), "{e}");
    }
}
