//! Rows from files and from one process, against those that a single process has.

use std::path::{Path, PathBuf};
use std::{env, fs};

use spmv::parts::{Peers, Ranges};
use spmv::{Csr, CsrView};
use spmv_io::matrix_market::{self, Reader};
use spmv_mpi::{Error, MpiPeers};
use spmv_partition::{LocalRows, Part, cut};

use crate::launch::FOLDER;

const FILES: [(&str, &str); 6] = [
    // With duplicates, whose order their sum depends on, and rows without entries.
    (
        "general",
        "coordinate real general\n6 4 6\n1 1 1e16\n\n3 4 2.5\n1 1 1\n% more\n1 1 -1e16\n6 1 0.5\n2 4 3\n",
    ),
    ("symmetric", "coordinate integer symmetric\n5 5 5\n1 1 1\n3 1 -7\n4 4 2\n5 2 5\n5 4 9\n"),
    ("skew", "coordinate real skew-symmetric\n4 4 2\n3 1 2.5\n4 2 5"),
    ("pattern", "coordinate pattern general\n4 4 3\n1 1\n3 1\n4 4\n"),
    ("array", "array real symmetric\n3 3\n1\n0\n2\n3\n4\n5\n"),
    ("empty", "coordinate real general\n0 0 0\n"),
];

/// A file of this world, which rank 0 writes. Collective.
fn written(peers: &MpiPeers, name: &str, write: impl FnOnce(&Path)) -> PathBuf {
    let path = PathBuf::from(env::var(FOLDER).expect("a folder")).join(format!("{name}.mtx"));
    if peers.rank() == 0 {
        write(&path);
    }
    peers.agree_on("a file", 0).expect("it is there");
    path
}

fn file(peers: &MpiPeers, name: &str, text: &str) -> PathBuf {
    let text = format!("%%MatrixMarket matrix {text}");
    written(peers, name, |path| fs::write(path, text).expect("space for it"))
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

/// The rows of one process.
fn rows_of(a: CsrView<'_, f64>, ranges: &Ranges, rank: usize) -> LocalRows<f64> {
    let (mut row_ptr, mut cols, mut vals) = (vec![0], vec![], vec![]);
    for row in ranges.range(rank) {
        for (col, value) in a.row(row as usize) {
            cols.push(u64::from(col));
            vals.push(value);
        }
        row_ptr.push(cols.len() as u64);
    }
    LocalRows::new(a.n_cols() as u64, row_ptr, cols, vals).expect("rows of a matrix")
}

/// All rows for the last process but one, or as many for each.
fn all_ranges(rows: u64, size: usize) -> [Ranges; 2] {
    let mut uneven = vec![0; size + 1];
    uneven[size.max(2) - 1..].fill(rows);
    [Ranges::even(rows, size), Ranges::new(uneven).expect("ranges")]
}

pub(crate) fn files(peers: &MpiPeers) {
    let peers = &peers.clone().staged_bytes(64);
    let reader = Reader::new();
    let mut paths: Vec<PathBuf> = FILES.iter().map(|(name, text)| file(peers, name, text)).collect();
    // A compressed file, and what one looks like that is not.
    let real = matrix_market::read::<f64>(data("west0479.mtx.gz")).expect("a matrix");
    paths.push(data("west0479.mtx.gz"));
    paths.push(written(peers, "west0479", |path| {
        matrix_market::write(path, real.view()).expect("space for it")
    }));
    for path in paths {
        let whole = reader.read::<f64, u32>(&path).expect("a matrix");
        for ranges in all_ranges(whole.n_rows() as u64, peers.size()) {
            let own = spmv_mpi::read(peers, &path, &reader, Some(ranges.clone())).expect("rows");
            assert_eq!(own.rows, rows_of(whole.view(), &ranges, peers.rank()), "{path:?}");
            assert_eq!(own.ranges, ranges);
        }
        let own = spmv_mpi::read::<f64>(peers, &path, &reader, None).expect("rows");
        assert_eq!(own.ranges, Ranges::even(whole.n_rows() as u64, peers.size()));
    }
}

pub(crate) fn broken_files(peers: &MpiPeers) {
    let reader = Reader::new();
    let good: String = (1..=200).map(|i| format!("{i} {} {i}.5\n", 201 - i)).collect();
    let cut = |at: usize| &good[..at];
    let garbage = good.replace("150 51 150.5", "150 51 x");
    for (name, body) in [
        ("whole lines are missing", cut(good.find("120 81").expect("a line"))),
        ("half a line is missing", cut(good.find("81 120.5").expect("a line"))),
        ("nothing is left", ""),
        ("a value is none", &garbage),
        ("too many", &(good.clone() + "1 1 1\n1 1 y\n")),
    ] {
        let path = file(peers, name, &format!("coordinate real general\n200 200 200\n{body}"));
        let serial = reader.read::<f64, u32>(&path).expect_err(name);
        match spmv_mpi::read::<f64>(peers, &path, &reader, None) {
            Err(Error::File { line, message, path: named, .. }) => {
                assert_eq!(
                    (line, message, named),
                    (serial.line(), serial.kind().to_string(), path),
                    "{name}"
                );
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    // What is wrong with the file, each process finds by itself.
    let header = file(peers, "header", "coordinate real generous\n1 1 0\n");
    let Err(Error::File { rank: 0, line: Some(1), .. }) = spmv_mpi::read::<f64>(peers, header, &reader, None)
    else {
        panic!("no such symmetry");
    };
}

pub(crate) fn files_that_differ(peers: &MpiPeers) {
    let (reader, last) = (Reader::new(), peers.size() - 1);
    let is_last = peers.rank() == last;
    let text = "coordinate real general\n2 2 1\n1 1 1\n";
    let path = file(peers, "first", text);
    let missing = path.with_file_name("missing.mtx");
    match spmv_mpi::read::<f64>(peers, if is_last { missing } else { path.clone() }, &reader, None) {
        Err(Error::File { rank, line: None, .. }) if rank == last => {}
        other => panic!("{other:?}"),
    }
    let other = file(peers, "second", &text.replace("2 2 1", "3 2 1"));
    let read = spmv_mpi::read::<f64>(peers, if is_last { other } else { path.clone() }, &reader, None);
    match last {
        0 => assert!(read.is_ok()),
        _ => {
            let expected = Error::Disagree { what: "rows", rank: last, theirs: 3, first: 2 };
            assert_eq!(read, Err(expected));
        }
    }
    // Ranges of other rows, and ranges that are not the same everywhere.
    let message = |ranges| match spmv_mpi::read::<f64>(peers, &path, &reader, Some(ranges)) {
        Err(Error::Rank { message, .. }) => message,
        other => panic!("{other:?}"),
    };
    assert!(message(Ranges::even(3, last + 1)).starts_with("ranges of 3 rows in"));
    if last > 0 {
        let mut offsets = vec![0; last + 2];
        offsets[if is_last { last + 1 } else { 1 }..].fill(2);
        assert!(message(Ranges::new(offsets).expect("ranges")).contains("must be the same in all"));
    }
}

/// A matrix without pattern, the same in all processes.
fn matrix(n_rows: u32, n_cols: u32) -> Csr<f64> {
    let entry =
        |row: u32, i: u32| (row, (row * row + i * i * 7) % n_cols, f64::from(row) + 0.1 * f64::from(i));
    let entries: Vec<_> = (0..n_rows).flat_map(|row| (0..row % 5).map(move |i| entry(row, i))).collect();
    Csr::from_coo(n_rows as usize, n_cols as usize, &entries).expect("a matrix")
}

pub(crate) fn scattered(peers: &MpiPeers) {
    let peers = &peers.clone().staged_bytes(100);
    let a = matrix(97, 31);
    for root in [0, peers.size() - 1] {
        for ranges in all_ranges(97, peers.size()) {
            let given = (peers.rank() == root).then(|| (a.view(), ranges.clone()));
            let own = spmv_mpi::scatter(peers, root, given).expect("rows");
            assert_eq!(own.rows, rows_of(a.view(), &ranges, peers.rank()));
            assert_eq!(own.ranges, ranges);
        }
    }
    let nothing = spmv_mpi::scatter::<f64, u32>(peers, 0, None);
    assert!(matches!(nothing, Err(Error::Rank { rank: 0, .. })), "{nothing:?}");
    let nobody = spmv_mpi::scatter::<f64, u32>(peers, 9, None);
    assert_eq!(nobody, Err(Error::NoSuchRank { rank: 9, size: peers.size() }));
}

pub(crate) fn requests(peers: &MpiPeers) {
    let rank = peers.rank();
    let a = matrix(97, 97);
    for rows in all_ranges(97, peers.size()) {
        for cols in all_ranges(97, peers.size()) {
            let part = || Part::new(rank, &rows, &cols, rows_of(a.view(), &rows, rank)).expect("a part");
            let expected = cut(a.view(), &rows, &cols).expect("parts").swap_remove(rank);
            let part = spmv_mpi::exchange_requests(peers, part()).expect("requests");
            assert_eq!(part, expected);
            product(peers, &a, &part);
        }
    }
}

/// A product of the part with an exchange of ghosts has the rows of the whole product.
fn product(peers: &MpiPeers, a: &Csr<f64>, part: &Part<f64>) {
    let x: Vec<f64> = (0..a.n_cols()).map(|i| 1.0 + i as f64).collect();
    let own = &x[part.cols().start as usize..part.cols().end as usize];
    let mut exchange = peers.exchange(part.halo(), size_of::<f64>()).expect("a halo");
    let sent = part.halo().sends.iter().flat_map(|send| &send.values);
    let sent: Vec<u8> = sent.flat_map(|value| own[*value as usize].to_le_bytes()).collect();
    exchange.sent().copy_from_slice(&sent);
    let times = |a: &Csr<f64, u64>, x: &[f64]| -> Vec<f64> {
        (0..a.n_rows()).map(|row| a.row(row).map(|(col, value)| value * x[col as usize]).sum()).collect()
    };
    let mut y = vec![];
    exchange.run(&mut || y = times(part.local(), own)).expect("an exchange");
    let ghosts: Vec<f64> =
        exchange.ghosts().chunks(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect();
    for (row, value) in part.boundary_rows().iter().zip(times(part.remote(), &ghosts)) {
        y[*row as usize] += value;
    }
    for (row, value) in part.rows().zip(y) {
        let expected: f64 = a.row(row as usize).map(|(col, value)| value * x[col as usize]).sum();
        assert!((value - expected).abs() <= 1e-9 * expected.abs(), "row {row}: {value}, {expected}");
    }
}

pub(crate) fn strange_requests(peers: &MpiPeers) {
    let (rank, last) = (peers.rank(), peers.size() - 1);
    if last == 0 {
        return;
    }
    let a = matrix(97, 97);
    let [even, uneven] = all_ranges(97, peers.size());
    // The last process takes columns to be owned by others than the others do.
    let cols = if rank == last { &uneven } else { &even };
    let part = Part::new(rank, &even, cols, rows_of(a.view(), &even, rank)).expect("a part");
    let refused = spmv_mpi::exchange_requests(peers, part).expect_err("columns of others");
    assert!(refused.to_string().contains("own"), "{refused}");
    // A part of another process.
    let other = if rank == last { 0 } else { rank };
    let part = Part::new(other, &even, &even, rows_of(a.view(), &even, other)).expect("a part");
    let refused = spmv_mpi::exchange_requests(peers, part).expect_err("two parts 0");
    assert!(matches!(refused, Error::Rank { rank, .. } if rank == last), "{refused}");
}
