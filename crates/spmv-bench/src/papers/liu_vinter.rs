//! Liu & Vinter 2015, whose algorithm is the library's first.

mod environment;
mod speed;
mod sweeps;

use super::item::{How, Item, Paper};

const ANY: &str = "any device";
const SHARED: &str = "any device; in place where it shares the host's memory";

pub(super) const PAPER: Paper = Paper {
    id: "liu-vinter-2015",
    data: include_str!("../../papers/liu-vinter-2015.toml"),
    items: &[
        Item {
            id: "figure-1",
            title: "processors whose cores share memory or caches",
            section: "page 4, section 2.2",
            how: How::Impossible(
                "two block diagrams, nothing to measure; `MemoryModel` names what they distinguish",
            ),
            reason: "",
        },
        Item {
            id: "figure-2",
            title: "nonzeros assigned to groups, bunches and lanes",
            section: "page 5, section 3.1",
            how: How::Tests(&[("spmv-core", "every_entry_of_figure_2_has_its_group_bunch_tile_and_lane")]),
            reason: "",
        },
        Item {
            id: "figure-3",
            title: "the worked example: 12 rows, 48 nonzeros",
            section: "page 6, section 3.2",
            how: How::Tests(&[("spmv-fixup", "the_papers_worked_example"), ("spmv-exec", "figure_3")]),
            reason: "",
        },
        Item {
            id: "algorithm-1",
            title: "the speculative stage, and the carries that the host adds",
            section: "page 13, appendix A",
            how: How::Tests(&[("spmv-exec", "spec_segsum")]),
            reason: "",
        },
        Item {
            id: "table-1",
            title: "T, W, B and S, and what the plan takes instead",
            section: "page 7, Table 1",
            how: How::Run { needs: ANY, run: speed::table_1 },
            reason: "the plan chooses T, W, S and B for the device at hand; Table 1 was chosen for three integrated GPUs of 2014",
        },
        Item {
            id: "table-2",
            title: "the test environments, and the devices here",
            section: "page 7, Table 2",
            how: How::Run { needs: ANY, run: environment::table_2 },
            reason: "",
        },
        Item {
            id: "table-3",
            title: "the 20 matrices",
            section: "page 8, Table 3",
            how: How::Run { needs: "nothing", run: environment::table_3 },
            reason: "",
        },
        Item {
            id: "section-3.2",
            title: "stage 2: dirty tiles, their share of all tiles, and the share of the time that repair takes",
            section: "page 6, section 3.2",
            how: How::Run { needs: SHARED, run: speed::stage_2 },
            reason: "",
        },
        Item {
            id: "section-4.3",
            title: "the formulas of throughput and bandwidth",
            section: "page 9, section 4.3",
            how: How::Tests(&[("spmv-bench", "bandwidth_of_the_paper_by_hand")]),
            reason: "",
        },
        Item {
            id: "figure-4",
            title: "GFlop/s in single precision",
            section: "page 9, section 4.4",
            how: How::Run { needs: ANY, run: speed::figure_4 },
            reason: "csr_vector waits for the longest row, and a device with more lanes idles longer; cores of a CPU do not wait for \
                     lanes, so a loop over rows is the faster there",
        },
        Item {
            id: "figure-5",
            title: "GFlop/s in double precision",
            section: "page 10, section 4.4",
            how: How::Run { needs: "a device with f64", run: speed::figure_5 },
            reason: "as for figure-4",
        },
        Item {
            id: "figure-6",
            title: "bandwidth by the paper's formula, which counts x once for each nonzero, and by compulsory traffic",
            section: "page 11, section 4.4",
            how: How::Run { needs: ANY, run: speed::figure_6 },
            reason: "x is read from caches, so the paper's formula counts bytes that memory never delivers: on devices with large caches \
                     it exceeds what memory can read",
        },
        Item {
            id: "figure-7",
            title: "GFlop/s by W, the other parameters as in Table 1",
            section: "page 12, section 4.5",
            how: How::Run { needs: ANY, run: sweeps::figure_7 },
            reason: "on cores of a CPU a lane is an iteration of a loop, and W no resource",
        },
        Item {
            id: "figure-8",
            title: "GFlop/s by S, the other parameters as in Table 1",
            section: "page 12, section 4.5",
            how: How::Run { needs: ANY, run: sweeps::figure_8 },
            reason: "with many multiprocessors a larger S leaves too few bunches to fill them",
        },
    ],
};
