//! The paper's partition: Algorithm 1 for the width of Q1 or T1, then rows of the rest handed back to the device.

use spmv::{
    Context, Csr, Options, Scalar,
    hetero::{By, Partition, Regular, Regularity, Split, Steering, Step},
};

/// Where Algorithm 1 ends, before and after the cooperative step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Published {
    /// Of the widths the one with which both are done first; the cores have all of the rest (figure 6).
    pub(super) before: Split,
    /// The fastest with any rows of the rest on the device (figure 7): never slower in the search than `before`.
    pub(super) after: Split,
}

impl Published {
    /// From what a search tried that began with the paper's regular part, however full its layout is: the one of `searched`, or
    /// one more. `None` of a general matrix, and where there was no time for a split in two.
    pub(super) fn of<T: Scalar>(
        context: &Context,
        a: &Csr<T>,
        options: &Options,
        searched: &Partition,
    ) -> anyhow::Result<Option<Self>> {
        let regular = Regular::published(&Regularity::of(a.view()));
        if regular == Regular::None {
            return Ok(None);
        }
        if Split::of(a.view()).regular == regular {
            return Ok(Self::among(&searched.trace, regular));
        }
        let steering = context.steering().cloned().unwrap_or_default();
        let steering = Steering { split: None, regular: Some(regular), ..steering };
        let matrix = context.steered(steering).prepare_with(a, options)?;
        Ok(matrix.partition().and_then(|partition| Self::among(&partition.trace, regular)))
    }

    /// The fastest measured steps with a regular part of that kind and something for the cores.
    fn among(trace: &[Step], regular: Regular) -> Option<Self> {
        let is_it = |step: &&Step| {
            let is_of_kind = regular.with_width(0) == step.split.regular.with_width(0);
            step.by == By::Runs
                && is_of_kind
                && step.device_s > 0.0
                && step.cores_s > 0.0
                && step.total_s.is_finite()
        };
        let fastest = |rows: fn(&Split) -> bool| {
            let steps = trace.iter().filter(is_it).filter(|step| rows(&step.split));
            steps.min_by(|a, b| a.total_s.total_cmp(&b.total_s)).map(|step| step.split)
        };
        Some(Self { before: fastest(|split| split.rows == 0)?, after: fastest(|_| true)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_the_cooperative_step_the_cores_have_all_of_the_rest() {
        let step = |regular, rows, by, total_s| Step {
            split: Split { regular, ..Split::by_rows(rows) },
            by,
            device_s: total_s,
            cores_s: total_s,
            total_s,
        };
        let slots = |width| Regular::Slots { width };
        let idle = Step { cores_s: 0.0, ..step(slots(9), 0, By::Runs, 1.0) };
        let trace = [
            step(slots(3), 0, By::Models, 1.0),
            step(slots(3), 0, By::Runs, 6.0),
            step(slots(2), 0, By::Runs, 5.0),
            step(slots(2), 40, By::Runs, 4.0),
            step(Regular::Diagonals { half_width: 2 }, 0, By::Runs, 2.0),
            step(Regular::None, 40, By::Runs, 3.0),
            idle,
        ];
        let found = Published::among(&trace, slots(3)).unwrap();
        assert_eq!((found.before, found.after), (trace[2].split, trace[3].split));
        // Handing nothing back is fastest.
        let found = Published::among(&trace[..3], slots(3)).unwrap();
        assert_eq!((found.before, found.after), (trace[2].split, trace[2].split));
        assert_eq!(Published::among(&trace[3..4], slots(3)), None);
    }
}
