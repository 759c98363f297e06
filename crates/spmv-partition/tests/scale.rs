//! What the model of scale says of traffic made by hand.

use proptest::prelude::*;
use spmv_partition::scale::{Arrangement, Curve, Machine, Scaling, Times, Work, product_bytes};
use spmv_partition::{PartTraffic, Traffic, near_cube, poisson_3d};

/// Everything but bandwidths is free.
const BANDWIDTHS: Machine = Machine {
    product_bytes_s: 1e9,
    vector_bytes_s: 2e9,
    start_s: 0.0,
    stage_s: 0.0,
    staged_bytes_s: f64::INFINITY,
    read_s: 0.0,
    message_s: 0.0,
    link_bytes_s: f64::INFINITY,
    reduction_s: None,
};

const POWERS: [usize; 13] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

fn own(rows: u64, nonzeros: u64) -> PartTraffic {
    PartTraffic { rows, nonzeros, value_bytes: 8, ..PartTraffic::default() }
}

/// So many rows of a diagonal, in equal parts: no ghosts.
fn diagonal(rows: u64, parts: usize) -> Traffic {
    let of_part = rows / parts as u64;
    Traffic::new(vec![own(of_part, of_part); parts])
}

/// Every part needs one value of the part before and after it.
fn ring(rows: u64, parts: usize) -> Traffic {
    let of_part = rows / parts as u64;
    let neighbours = (parts as u64 - 1).min(2);
    let part = PartTraffic {
        boundary_rows: neighbours,
        remote_nonzeros: neighbours,
        ghosts: neighbours,
        sent: neighbours,
        neighbours,
        ..own(of_part, 3 * of_part)
    };
    Traffic::new(vec![part; parts])
}

fn together(machine: &Machine, traffic: &Traffic) -> Times {
    machine.times(traffic, Arrangement::Together)
}

fn strong(machine: &Machine, of: impl Fn(usize) -> Traffic) -> Curve {
    Curve::new(Scaling::Strong, POWERS.iter().map(|parts| together(machine, &of(*parts))).collect())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-3 * b.abs()
}

#[test]
fn without_ghosts_and_start_costs_scaling_is_perfect() {
    let curve = strong(&BANDWIDTHS, |parts| diagonal(1 << 24, parts));
    for (at, parts) in POWERS.iter().enumerate() {
        assert!(close(curve.speed_up(at, Work::Product), *parts as f64), "{parts} parts");
        assert!(close(curve.efficiency(at, Work::Iteration), 1.0), "{parts} parts");
    }
    assert_eq!(curve.limit(Work::Product), None);
    assert_eq!(curve.first_below(0.5, Work::Product), None);
}

#[test]
fn start_costs_end_perfect_scaling_where_they_are_as_long_as_the_work() {
    let rows = 1 << 20;
    let work = product_bytes(rows, rows, rows, 8) as f64 / BANDWIDTHS.product_bytes_s;
    // As long as the work of one of 64 parts: efficiency is half there.
    let machine = Machine { start_s: work / 64.0, ..BANDWIDTHS };
    let curve = strong(&machine, |parts| diagonal(rows, parts));
    assert!(close(curve.efficiency(6, Work::Product), 0.5 * (1.0 + 1.0 / 64.0)));
    assert_eq!(curve.first_below(0.5, Work::Product), Some(128));
    // More parts are still faster, but never faster than a start.
    assert_eq!(curve.limit(Work::Product), None);
    assert!(curve.points()[12].product_s > machine.start_s);
}

#[test]
fn a_ring_is_bound_by_the_latency_of_its_messages() {
    let machine = Machine { message_s: 5e-6, vector_bytes_s: f64::INFINITY, ..BANDWIDTHS };
    let curve = strong(&machine, |parts| ring(1 << 16, parts));
    let last = curve.points()[12];
    // Two messages, and the few bytes of boundary rows.
    assert_eq!(last.exchange_s, 10e-6);
    assert_eq!(last.product_s, last.exchange_s + last.boundary_s);
    assert!(last.boundary_s < 1e-6);
    // Sums over all parts take one message more for each doubling.
    assert!(close(last.iteration_s - curve.points()[11].iteration_s, 2.0 * 5e-6));
    let limit = curve.limit(Work::Iteration).unwrap();
    assert!(limit < 4096, "faster up to {limit} parts");
}

#[test]
fn messages_are_hidden_while_the_local_product_takes_longer() {
    let hidden = Machine { message_s: 5e-6, ..BANDWIDTHS };
    let times = |machine: &Machine| together(machine, &ring(1 << 20, 4)).product_s;
    assert_eq!(times(&hidden), times(&BANDWIDTHS));
    assert!(times(&Machine { message_s: 1.0, ..BANDWIDTHS }) > 2.0);
}

#[test]
fn bytes_over_the_link_are_those_of_the_busier_direction() {
    let part = PartTraffic { sent: 10, ghosts: 1000, neighbours: 1, boundary_rows: 1, ..own(1, 1001) };
    let part = PartTraffic { remote_nonzeros: 1000, ..part };
    let machine = Machine { link_bytes_s: 8e6, message_s: 1e-6, ..BANDWIDTHS };
    assert!(close(together(&machine, &Traffic::new(vec![part])).exchange_s, 1e-3 + 1e-6));
}

#[test]
fn imbalance_bounds_the_speed_up() {
    // One of 8 parts has half of everything.
    let rows = 1 << 20;
    let mut parts = vec![own(rows / 14, rows / 14); 7];
    parts.push(own(rows / 2, rows / 2));
    let traffic = Traffic::new(parts);
    let one = together(&BANDWIDTHS, &diagonal(rows, 1)).product_s;
    let speed_up = one / together(&BANDWIDTHS, &traffic).product_s;
    assert!(close(speed_up, 8.0 / traffic.imbalance()), "{speed_up}");
    assert!(close(speed_up, 2.0));
}

#[test]
fn parts_on_one_device_take_as_long_as_all_of_them() {
    let machine = Machine { start_s: 1e-6, stage_s: 2e-6, read_s: 3e-6, message_s: 1.0, ..BANDWIDTHS };
    let traffic = ring(1 << 12, 4);
    let (in_turn, one) =
        (machine.times(&traffic, Arrangement::InTurn), machine.times(&ring(1 << 12, 1), Arrangement::InTurn));
    // Gathering, the local product, the remote product and its sums, each of four parts; and an exchange each.
    let fixed = 4.0 * (4.0 * 1e-6 + 2e-6);
    assert!(in_turn.product_s > one.product_s - 1e-6 + fixed);
    assert!(in_turn.product_s < one.product_s + fixed + 1e-6);
    // Messages of a network are none here.
    assert_eq!(in_turn.exchange_s, 0.0);
    let beyond = |times: Times| times.iteration_s - times.product_s;
    assert!(close(beyond(in_turn) - beyond(one), 3.0 * (3.0 * 1e-6 + 2.0 * 3e-6)));
}

#[test]
fn a_reduction_that_was_measured_replaces_the_tree() {
    let machine = Machine { read_s: 1e-6, message_s: 1e-6, ..BANDWIDTHS };
    let beyond = |machine: &Machine, parts| {
        let times = together(machine, &diagonal(1 << 12, parts));
        times.iteration_s
            - together(&Machine { read_s: 0.0, message_s: 0.0, ..BANDWIDTHS }, &diagonal(1 << 12, parts))
                .iteration_s
    };
    assert_eq!(beyond(&machine, 1), 0.0);
    assert!(close(beyond(&machine, 2), 2.0 * 2e-6));
    // Five parts need three levels.
    assert!(close(beyond(&machine, 5), 2.0 * 4e-6));
    let measured = Machine { reduction_s: Some(7e-6), ..machine };
    assert!(close(beyond(&measured, 4096), 2.0 * 7e-6));
}

#[test]
fn weak_scaling_of_boxes_is_flat_and_of_sums_over_all_parts_is_not() {
    let machine = Machine { staged_bytes_s: 1e9, link_bytes_s: 1e9, message_s: 1e-5, ..BANDWIDTHS };
    let of = |parts: &usize| together(&machine, &poisson_3d([16; 3], near_cube(*parts as u64), 8));
    let curve = Curve::new(Scaling::Weak, POWERS.iter().map(of).collect());
    // From 64 parts on some box has neighbours on all sides of it.
    assert!(curve.points()[6..].windows(2).all(|two| two[0].product_s == two[1].product_s));
    assert!(curve.points().windows(2).all(|two| two[0].iteration_s < two[1].iteration_s));
    assert!(curve.efficiency(12, Work::Iteration) < curve.efficiency(12, Work::Product));
    assert_eq!(curve.limit(Work::Product), None);
}

#[test]
fn the_limit_is_the_count_beyond_which_the_next_is_no_faster() {
    let point = |(parts, seconds): (usize, f64)| Times {
        parts,
        product_s: seconds,
        iteration_s: 1.0,
        ..Times::default()
    };
    let curve = Curve::new(Scaling::Strong, [(4, 3.0), (1, 8.0), (8, 5.0), (2, 4.0)].map(point).to_vec());
    assert_eq!(curve.points().iter().map(|times| times.parts).collect::<Vec<_>>(), [1, 2, 4, 8]);
    assert_eq!(curve.limit(Work::Product), Some(4));
    assert_eq!(curve.first_below(0.7, Work::Product), Some(4));
    // Equally fast with one part.
    assert_eq!((curve.limit(Work::Iteration), curve.fastest(Work::Iteration)), (Some(1), Some(1)));
    // Fewer neighbours can make many parts faster again.
    let again = [(1, 8.0), (2, 4.0), (4, 5.0), (8, 3.0)].map(point);
    let again = Curve::new(Scaling::Strong, again.to_vec());
    assert_eq!((again.limit(Work::Product), again.fastest(Work::Product)), (Some(2), Some(8)));
    assert_eq!(Curve::new(Scaling::Weak, vec![]).fastest(Work::Product), None);
}

#[test]
fn no_parts_take_no_time() {
    let none = together(&Machine { start_s: 1.0, ..BANDWIDTHS }, &Traffic::default());
    assert_eq!((none.product_s, none.iteration_s), (0.0, 0.0));
}

fn machine() -> impl Strategy<Value = Machine> {
    let rate = || 1e6..1e12;
    let seconds = || 0.0..1e-3;
    ((rate(), rate(), rate(), rate()), (seconds(), seconds(), seconds(), seconds())).prop_map(
        |(
            (product_bytes_s, vector_bytes_s, staged_bytes_s, link_bytes_s),
            (start_s, stage_s, read_s, message_s),
        )| Machine {
            product_bytes_s,
            vector_bytes_s,
            start_s,
            stage_s,
            staged_bytes_s,
            read_s,
            message_s,
            link_bytes_s,
            reduction_s: None,
        },
    )
}

proptest! {
    #[test]
    fn nothing_is_faster_on_a_slower_machine(fast in machine(), parts in 1usize..40, by in 1.0..10.0f64) {
        let traffic = ring(1 << 12, parts);
        let slower = [
            Machine { product_bytes_s: fast.product_bytes_s / by, ..fast },
            Machine { vector_bytes_s: fast.vector_bytes_s / by, ..fast },
            Machine { staged_bytes_s: fast.staged_bytes_s / by, ..fast },
            Machine { link_bytes_s: fast.link_bytes_s / by, ..fast },
            Machine { start_s: fast.start_s * by, ..fast },
            Machine { stage_s: fast.stage_s * by, ..fast },
            Machine { read_s: fast.read_s * by, ..fast },
            Machine { message_s: fast.message_s * by, ..fast },
        ];
        for arrangement in [Arrangement::Together, Arrangement::InTurn] {
            let of_fast = fast.times(&traffic, arrangement);
            for slow in slower {
                let of_slow = slow.times(&traffic, arrangement);
                prop_assert!(of_slow.product_s >= of_fast.product_s);
                prop_assert!(of_slow.iteration_s >= of_fast.iteration_s);
            }
        }
    }

    #[test]
    fn more_ghosts_are_never_faster_and_no_speed_up_exceeds_the_devices(machine in machine(), parts in 2usize..40) {
        let few = ring(1 << 12, parts);
        let more = few.parts().iter().map(|part| PartTraffic {
            ghosts: 3 * part.ghosts,
            sent: 3 * part.sent,
            ..*part
        });
        let few_s = together(&machine, &few).product_s;
        prop_assert!(together(&machine, &Traffic::new(more.collect())).product_s >= few_s);
        let one_s = together(&machine, &ring(1 << 12, 1)).product_s;
        prop_assert!(one_s / few_s <= parts as f64 * (1.0 + 1e-2));
    }
}
