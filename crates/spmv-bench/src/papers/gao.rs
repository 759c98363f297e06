//! Gao et al. 2016: PCSR, and IPCSR's row blocks.

use std::time::Instant;

use spmv::plan::{RowBlocks, tiling::Tiling};
use spmv::{Csr, Dtype, plan::Algorithm};
use spmv_io::suite::GAO_2016;

use super::figures::{
    self, by_device, claim, left_out, maximum, mean, of_precision, ratios, table, with_mean,
};
use super::item::{How, Item, Paper};
use super::outcome::{Claim, Column, Outcome, Row, Rule, Table, Value};
use super::scene::{Contestant, Raced, Scene, algorithms};
use crate::bench::inputs::Input;
use crate::bench::report;

const ANY: &str = "any device; cuSPARSE on CUDA alone";

pub(super) const PAPER: Paper = Paper {
    id: "gao",
    data: include_str!("../../papers/gao.toml"),
    items: &[
        Item {
            id: "algorithm-1",
            title: "PCSR, first kernel: products of all nonzeros",
            section: "section 3.2",
            how: How::Tests(&[("spmv-exec", "pcsr")]),
            reason: "",
        },
        Item {
            id: "algorithm-2",
            title: "PCSR, second kernel: a lane sums a row",
            section: "section 3.2",
            how: How::Tests(&[("spmv-exec", "pcsr")]),
            reason: "",
        },
        Item {
            id: "algorithm-3",
            title: "IPCSR: products in shared memory, a lane sums a row",
            section: "section 4",
            how: How::Tests(&[("spmv-exec", "ipcsr_published")]),
            reason: "",
        },
        Item {
            id: "algorithm-4",
            title: "row blocks, with the example of 128 rows; their cost over that of the CSR arrays",
            section: "section 4",
            how: How::Run { needs: "nothing", run: blocks },
            reason: "the greatest share of all matrices counts: where rows have few nonzeros, both costs follow the rows; most matrices are \
                     far below the paper's bound",
        },
        Item {
            id: "figure-1",
            title: "the tree that chooses the lanes of a row by the rows of a block",
            section: "section 4.1",
            how: How::Tests(&[("spmv-exec", "ipcsr_published")]),
            reason: "the picture is missing: the powers of two are those that the listing of algorithm 5 tests",
        },
        Item {
            id: "algorithm-5",
            title: "several lanes sum a row",
            section: "section 4.1",
            how: How::Tests(&[("spmv-exec", "ipcsr_published")]),
            reason: "",
        },
        Item {
            id: "algorithm-6",
            title: "row blocks with long rows",
            section: "section 4.2",
            how: How::Tests(&[(
                "spmv-core",
                "blocks_of_the_papers_128_rows_have_64_and_64_rows_or_63_64_and_1",
            )]),
            reason: "",
        },
        Item {
            id: "algorithm-7",
            title: "IPCSR with several lanes for a row",
            section: "section 4.1",
            how: How::Tests(&[("spmv-exec", "ipcsr_published")]),
            reason: "",
        },
        Item {
            id: "algorithm-8",
            title: "a block sums one long row",
            section: "section 4.2",
            how: How::Tests(&[("spmv-exec", "ipcsr_published")]),
            reason: "",
        },
        Item {
            id: "algorithm-9",
            title: "IPCSR",
            section: "section 4.2",
            how: How::Tests(&[("spmv-exec", "ipcsr_published")]),
            reason: "",
        },
        Item {
            id: "algorithm-10",
            title: "x in double precision through a texture",
            section: "section 4.3",
            how: How::Impossible(
                "texture references left CUDA with version 12. From compute capability 3.5 on, read-only loads (ld.global.nc) take \
                 the same path through the cache; the CUDA kernels read x, columns and values by them",
            ),
            reason: "",
        },
        Item {
            id: "equation-3",
            title: "SHARED_SIZE by threads, shared memory and blocks of a multiprocessor",
            section: "section 4",
            how: How::Tests(&[
                ("spmv-backend", "equation_3_of_gao_et_al_on_the_papers_devices"),
                ("spmv-backend", "blocks_of_f32_hold_twice_the_entries_of_f64"),
            ]),
            reason: "",
        },
        Item {
            id: "equations",
            title: "the other numbered equations: the format, the fetches of x, the effective bandwidth",
            section: "sections 3.1, 4.3 and 5.4",
            how: How::Impossible(
                "the text at hand lost formulas and their numbers; bandwidth is defined in words, and figure-7 uses that",
            ),
            reason: "",
        },
        Item {
            id: "table-1",
            title: "the 20 matrices",
            section: "section 5.1",
            how: How::Run { needs: "nothing", run: table_1 },
            reason: "the text at hand names one of the six matrices beyond the 14 common ones, mip1",
        },
        Item {
            id: "table-2",
            title: "the GPUs: Tesla C2050 and K20c",
            section: "section 5.1",
            how: How::Impossible(
                "neither GPU can be had; both are of compute capabilities that CUDA 13 does not know",
            ),
            reason: "",
        },
        Item {
            id: "figure-2",
            title: "GFlop/s in single precision, C2050",
            section: "section 5.2",
            how: How::Run { needs: ANY, run: |scene| throughput(scene, "figure-2", Dtype::F32) },
            reason: OF_PCSR,
        },
        Item {
            id: "figure-3",
            title: "GFlop/s in single precision, K20c",
            section: "section 5.2",
            how: How::Run { needs: ANY, run: |scene| throughput(scene, "figure-3", Dtype::F32) },
            reason: OF_PCSR,
        },
        Item {
            id: "figure-4",
            title: "mean speed-ups of IPCSR",
            section: "sections 5.2 and 5.3",
            how: How::Run { needs: ANY, run: figure_4 },
            reason: OF_PCSR,
        },
        Item {
            id: "figure-5",
            title: "GFlop/s in double precision, C2050",
            section: "section 5.3",
            how: How::Run {
                needs: "a device with f64",
                run: |scene| throughput(scene, "figure-5", Dtype::F64),
            },
            reason: OF_PCSR,
        },
        Item {
            id: "figure-6",
            title: "GFlop/s in double precision, K20c",
            section: "section 5.3",
            how: How::Run {
                needs: "a device with f64",
                run: |scene| throughput(scene, "figure-6", Dtype::F64),
            },
            reason: OF_PCSR,
        },
        Item {
            id: "table-3",
            title: "speed-ups of IPCSR in single precision, matrix by matrix",
            section: "section 5.2",
            how: How::Run { needs: ANY, run: |scene| speed_ups(scene, "table-3", Dtype::F32) },
            reason: OF_PCSR,
        },
        Item {
            id: "table-4",
            title: "speed-ups of IPCSR in double precision, matrix by matrix",
            section: "section 5.3",
            how: How::Run {
                needs: "a device with f64",
                run: |scene| speed_ups(scene, "table-4", Dtype::F64),
            },
            reason: OF_PCSR,
        },
        Item {
            id: "figure-7",
            title: "effective bandwidth in single precision",
            section: "section 5.4",
            how: How::Run { needs: ANY, run: figure_7 },
            reason: OF_PCSR,
        },
    ],
};

const OF_PCSR: &str = "what IPCSR saves is a trip of the products through the memory of the GPU; where the matrix stays in a cache, or \
                       the device is made of cores whose caches hold the products, PCSR loses little by it";

/// As published.
const PUBLISHED: &str = "ipcsr_published";
const IMPROVED: &str = "ipcsr";
const PCSR: &str = "pcsr";
/// What stands for CUSP's six: COO, CSR-scalar, CSR-vector, DIA, ELL and HYB.
const CUSP: [&str; 6] = ["coo", "csr_scalar", "csr_vector", "dia", "ell", "hyb"];

/// The 14 common matrices, which begin our suite, and what is known of the others; some of them if it is to be quick.
fn matrices(scene: &Scene<'_>) -> Vec<Input> {
    const COMMON: usize = 14;
    let common: Vec<&str> = spmv_io::suite::ENTRIES[..COMMON].iter().map(|entry| entry.name).collect();
    let mut inputs: Vec<Input> =
        scene.suite().into_iter().filter(|input| common.contains(&input.name())).collect();
    if !scene.quick {
        inputs.extend(GAO_2016.iter().map(|entry| scene.of_suite(entry)));
    }
    inputs
}

fn race(scene: &Scene<'_>) -> anyhow::Result<Vec<Raced>> {
    let ours: Vec<Algorithm> = algorithms(&[PUBLISHED, IMPROVED, PCSR]).chain(algorithms(&CUSP)).collect();
    let inputs = matrices(scene);
    let precisions = [Dtype::F32, Dtype::F64];
    let mut raced = scene.race("IPCSR and others", &inputs, &precisions, &|_, _| {
        ours.iter().copied().map(Contestant::of).collect()
    })?;
    raced.extend(scene.cusparse("IPCSR and cuSPARSE", &inputs, &precisions, &ours)?);
    Ok(raced)
}

fn throughput(scene: &Scene<'_>, item: &str, precision: Dtype) -> anyhow::Result<Outcome> {
    let raced = of_precision(race(scene)?, precision);
    let mut outcome = Outcome::of(item);
    for (on, precision, of_it) in by_device(&raced) {
        let title = format!("GFlop/s in {precision} on {on}");
        outcome.tables.push(table(title.clone(), &of_it, 2, Raced::gflops));
        outcome.figures.push(figures::bars(title, "GFlop/s", &of_it, Raced::gflops));
        for ours in [PUBLISHED, IMPROVED] {
            let what = "matrices on which IPCSR does not beat PCSR";
            let lost = ratios(&of_it, PCSR, ours, |_| true);
            let count =
                (!lost.is_empty()).then(|| lost.iter().filter(|(_, ratio)| *ratio <= 1.0).count() as f64);
            let papers = scene.numbers.stated(item, what, Some(&precision));
            outcome.claims.push(claim(
                format!("{what} ({ours})"),
                (&on, &precision),
                papers,
                count,
                ("", Rule::Equal),
            ));
        }
    }
    (outcome.notes, outcome.wrong) = left_out(&raced);
    Ok(outcome)
}

/// Speed-ups over every other, matrix by matrix, with the least and the greatest over PCSR.
fn speed_ups(scene: &Scene<'_>, item: &str, precision: Dtype) -> anyhow::Result<Outcome> {
    let raced = of_precision(race(scene)?, precision);
    let mut outcome = Outcome::of(item);
    for (on, precision, of_it) in by_device(&raced) {
        for ours in [PUBLISHED, IMPROVED] {
            let over = |r: &Raced| {
                let ours = of_it.iter().find(|o| o.matrix == r.matrix && o.name == ours)?;
                Some(r.us? / ours.us?)
            };
            let title = format!("{ours} over others in {precision} on {on}");
            outcome.tables.push(with_mean(table(title, &of_it, 2, over), "mean", |v| {
                Some(v.iter().sum::<f64>() / v.len() as f64)
            }));
            let over_pcsr = ratios(&of_it, PCSR, ours, |_| true);
            let least = over_pcsr.iter().map(|(_, ratio)| *ratio).min_by(f64::total_cmp);
            for (sum, value) in [("least", least), ("greatest", maximum(&over_pcsr))] {
                let papers = scene.numbers.stated(item, &format!("IPCSR over PCSR, {sum}"), Some(&precision));
                let what = format!("IPCSR over PCSR, {sum} ({ours})");
                outcome.claims.push(claim(what, (&on, &precision), papers, value, ("x", Rule::SameWinner)));
            }
        }
    }
    (outcome.notes, outcome.wrong) = left_out(&raced);
    Ok(outcome)
}

fn figure_4(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    let raced = race(scene)?;
    let mut outcome = Outcome::of("figure-4");
    for (on, precision, of_it) in by_device(&raced) {
        let others = figures::distinct(of_it.iter().map(|r| r.name.clone()));
        let mut rows = Vec::new();
        for other in others.iter().filter(|name| ![PUBLISHED, IMPROVED].contains(&name.as_str())) {
            let means = [PUBLISHED, IMPROVED].map(|ours| mean(&ratios(&of_it, other, ours, |_| true)));
            let papers = scene.numbers.stated(
                "figure-4",
                &format!("IPCSR over {}, mean", other.to_uppercase()),
                Some(&precision),
            );
            let paper = (!papers.is_empty())
                .then(|| papers.iter().map(|(_, v)| v).sum::<f64>() / papers.len() as f64);
            let n = ratios(&of_it, other, IMPROVED, |_| true).len();
            let values = vec![Value::both(paper, means[0]), Value::both(paper, means[1])];
            rows.push(Row {
                label: format!("over {other}"),
                twin: false,
                values,
                note: format!("{n} matrices"),
            });
            for (ours, value) in [PUBLISHED, IMPROVED].into_iter().zip(means).filter(|_| !papers.is_empty()) {
                let what = format!("IPCSR over PCSR, mean ({ours})");
                outcome.claims.push(claim(
                    what,
                    (&on, &precision),
                    papers.clone(),
                    value,
                    ("x", Rule::SameWinner),
                ));
            }
        }
        outcome.claims.extend(over_cusp((&on, &precision), &of_it));
        let columns = vec![Column::new(PUBLISHED, 2), Column::new(IMPROVED, 2)];
        let title = format!("mean speed-ups in {precision} on {on}; of the paper the mean of both GPUs");
        outcome.tables.push(Table { title, rows_are: "speed-up".into(), columns, rows });
    }
    (outcome.notes, outcome.wrong) = left_out(&raced);
    Ok(outcome)
}

/// Over the best of CUSP's six on each matrix; the text lost the paper's number.
fn over_cusp((on, precision): (&str, &str), raced: &[&Raced]) -> Vec<Claim> {
    let best = |matrix: &str| {
        let of_it = raced.iter().filter(|r| r.matrix == matrix && CUSP.contains(&r.name.as_str()));
        of_it.filter_map(|r| r.us).min_by(f64::total_cmp)
    };
    let of = |ours: &str| {
        let of_it = raced.iter().filter(|r| r.name == ours);
        let all: Vec<_> = of_it.filter_map(|r| Some((r.matrix.clone(), best(&r.matrix)? / r.us?))).collect();
        let what = format!("IPCSR over the best of CUSP's six algorithms, mean ({ours})");
        claim(what, (on, precision), vec![], mean(&all), ("x", Rule::Shown))
    };
    [PUBLISHED, IMPROVED].map(of).to_vec()
}

fn figure_7(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    const ITEM: &str = "figure-7";
    let raced = of_precision(race(scene)?, Dtype::F32);
    let mut outcome = Outcome::of(ITEM);
    let gbs = |r: &Raced| r.us.map(|us| report::Row::compulsory_bytes(&r.rows, r.precision) / us / 1e3);
    let state = |what: &str| scene.numbers.stated(ITEM, what, Some("f32")).first().map(|(_, value)| *value);
    for (on, precision, of_it) in by_device(&raced) {
        let title = format!("GB/s of compulsory traffic in {precision} on {on}");
        outcome.tables.push(table(title.clone(), &of_it, 1, gbs));
        outcome.figures.push(figures::bars(title, "GB/s", &of_it, gbs));
        let mean_of = |name: &str| {
            let of_name = of_it.iter().filter(|r| r.name == name);
            mean(&of_name.filter_map(|r| Some((r.matrix.clone(), gbs(r)?))).collect::<Vec<_>>())
        };
        let paper = state("IPCSR, mean")
            .zip(state("PCSR, mean"))
            .map(|(ipcsr, pcsr)| ("C2050".to_owned(), ipcsr / pcsr));
        for ours in [PUBLISHED, IMPROVED] {
            let ratio = mean_of(ours).zip(mean_of(PCSR)).map(|(ours, pcsr)| ours / pcsr);
            let what = format!("mean bandwidth of IPCSR over that of PCSR ({ours})");
            let papers = paper.clone().into_iter().collect();
            outcome.claims.push(claim(what, (&on, &precision), papers, ratio, ("x", Rule::SameWinner)));
        }
    }
    (outcome.notes, outcome.wrong) = left_out(&raced);
    outcome.notes.push("Bytes are those that any algorithm must move; what PCSR writes and reads between its kernels counts as lost.".into());
    Ok(outcome)
}

fn table_1(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::of("table-1");
    let mut rows = Vec::new();
    for input in matrices(scene) {
        scene.stop.check()?;
        let loaded = input.load()?;
        let stats = spmv::plan::RowStats::of(loaded.matrix.view());
        let values = [stats.n_rows as f64, stats.n_cols as f64, stats.nnz as f64, stats.mean];
        let values = values.map(Value::ours).to_vec();
        rows.push(Row { label: loaded.name, twin: loaded.twin, values, note: String::new() });
    }
    let n = rows.len() as f64;
    let columns = [("rows", 0), ("columns", 0), ("nnz", 0), ("nonzeros of a row", 1)];
    let columns = columns.map(|(name, digits)| Column::new(name, digits)).to_vec();
    outcome.tables.push(Table {
        title: "matrices of the table that the text names".into(),
        rows_are: "matrix".into(),
        columns,
        rows,
    });
    let papers =
        scene.numbers.find("table-1", "matrices", |_| true).map(|n| (String::new(), n)).into_iter().collect();
    outcome.claims.push(claim("matrices", ("-", ""), papers, Some(n), ("", Rule::Equal)));
    Ok(outcome)
}

/// Seconds to find the row blocks over those to make CSR arrays of triplets.
fn blocks(scene: &Scene<'_>) -> anyhow::Result<Outcome> {
    const ITEM: &str = "algorithm-4";
    let tiling = Tiling::new(128, 8, 1, 1)?;
    let mut outcome = Outcome::of(ITEM);
    let mut rows = Vec::new();
    for input in matrices(scene) {
        scene.stop.check()?;
        let loaded = input.load()?;
        let entries: Vec<(u32, u32, f64)> = triplets(&loaded.matrix);
        let start = Instant::now();
        let a: Csr<f64> = Csr::from_coo(loaded.matrix.n_rows(), loaded.matrix.n_cols(), &entries)?;
        let csr_s = start.elapsed().as_secs_f64();
        drop(entries);
        let best = (0..5).map(|_| {
            let start = Instant::now();
            let blocks = RowBlocks::whole(&tiling, a.row_ptr());
            (start.elapsed().as_secs_f64(), blocks.n_blocks())
        });
        let (blocks_s, n_blocks) = best.min_by(|a, b| a.0.total_cmp(&b.0)).expect("five times");
        let values = vec![
            Value::ours(csr_s * 1e3),
            Value::ours(n_blocks as f64),
            Value::ours(blocks_s * 1e3),
            Value::ours(100.0 * blocks_s / csr_s),
        ];
        rows.push(Row { label: loaded.name, twin: loaded.twin, values, note: String::new() });
    }
    let what = "generating the blocks over generating the CSR data structure, generally less than";
    let papers = scene.numbers.find(ITEM, what, |_| true).map(|n| (String::new(), n)).into_iter().collect();
    let shares: Vec<f64> = rows.iter().filter_map(|row| row.values[3].ours).collect();
    let worst = shares.iter().copied().max_by(f64::total_cmp);
    outcome.claims.push(claim(what, ("cpu", "f64"), papers, worst, ("%", Rule::AtMost(1.0))));
    let columns = [("CSR, ms", 1), ("blocks", 0), ("blocks, ms", 3), ("% of CSR", 3)];
    let columns = columns.map(|(name, digits)| Column::new(name, digits)).to_vec();
    outcome.tables.push(Table {
        title: "row blocks for T=128, W=8".into(),
        rows_are: "matrix".into(),
        columns,
        rows,
    });
    outcome.notes.push(
        "The example of 128 rows is a test: cargo test -p spmv-core blocks_of_the_papers_128_rows".into(),
    );
    Ok(outcome)
}

fn triplets(a: &Csr<f64>) -> Vec<(u32, u32, f64)> {
    let of_row =
        |row: usize| a.view().row(row).map(move |(col, val)| (row as u32, col, val)).collect::<Vec<_>>();
    (0..a.n_rows()).flat_map(of_row).collect()
}
