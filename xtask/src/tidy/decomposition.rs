//! The drawing of Liu & Vinter 2015, figure 2, by the arithmetic that kernels and repair use.

use std::fmt::Write as _;

use spmv_core::{Owner, Tiling};

use super::Workspace;

const PATH: &str = "docs/algorithm/decomposition.svg";

/// Entries that are drawn: two groups.
const ENTRIES: u32 = 64;

/// Pixels: the left margin, an entry, and the height of a box.
const LEFT: u32 = 92;
const ENTRY: u32 = 15;
const BOX: u32 = 24;
/// From one row of boxes to the next.
const STEP: u32 = 36;
/// Where the first row begins.
const TOP: u32 = 46;

const FILLS: [&str; 4] = ["#9ecae1", "#fdd0a2", "#a1d99b", "#dadaeb"];

/// A row of boxes: its name, and the number that entries in one box share.
type Row = (&'static str, fn(Owner) -> u32);

const ROWS: [Row; 4] =
    [("group", |o| o.group), ("bunch", |o| o.bunch), ("tile", |o| o.tile), ("lane", |o| o.lane)];

/// The drawing's path, and what it shall be.
pub(crate) fn blessed(_: &Workspace) -> (&'static str, String) {
    (PATH, drawing())
}

/// The drawing in the documents is what the arithmetic gives.
pub(crate) fn is_drawn(w: &Workspace) -> Vec<String> {
    match w.tree.text(PATH) {
        Some(text) if text == drawing() => vec![],
        _ => vec![format!("{PATH}: is not what tiling.rs gives; run `cargo xtask tidy --bless`")],
    }
}

fn drawing() -> String {
    let tiling = Tiling::new(2, 4, 2, 2).expect("the tiling of figure 2");
    let (width, height) = (LEFT + ENTRIES * ENTRY + 16, TOP + 5 * STEP + 4);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">How entries fall to groups, bunches, tiles and lanes</title>\n\
         <desc id=\"desc\">{ENTRIES} entries under {tiling}: a group takes 32 entries, a bunch 16, a tile 8, a lane 4.</desc>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    text(
        &mut svg,
        (LEFT, 26),
        "start",
        &format!("{ENTRIES} entries, {tiling}: two groups of 32 entries each"),
    );
    for (at, (name, number)) in ROWS.into_iter().enumerate() {
        let y = TOP + at as u32 * STEP;
        text(&mut svg, (LEFT - 12, y + 16), "end", name);
        let mut first = 0;
        for entry in 1..=ENTRIES {
            let of = |entry| number(Owner::of(&tiling, entry));
            if entry == ENTRIES || of(entry) != of(first) {
                boxed(&mut svg, (first, entry - first), y, of(first));
                first = entry;
            }
        }
    }
    let y = TOP + ROWS.len() as u32 * STEP;
    text(&mut svg, (LEFT - 12, y + 16), "end", "entry");
    (0..ENTRIES).for_each(|entry| boxed(&mut svg, (entry, 1), y, entry));
    svg + "</svg>\n"
}

/// A box over `n` entries with a number in it. Entries have the colour of their lane.
fn boxed(svg: &mut String, (first, n): (u32, u32), y: u32, number: u32) {
    let fill = FILLS[if n == 1 { first / 4 % 2 } else { number % 4 } as usize];
    let (x, width) = (LEFT + first * ENTRY, n * ENTRY);
    // Writing to a `String` does not fail.
    let _ = writeln!(
        svg,
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{BOX}\" fill=\"{fill}\" stroke=\"#555\" stroke-width=\"1\"/>"
    );
    let size = if n == 1 { 8 } else { 12 };
    let (x, y) = (x + width / 2, y + 16);
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"middle\" fill=\"#222\">{number}</text>"
    );
}

fn text(svg: &mut String, (x, y): (u32, u32), anchor: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"13\" text-anchor=\"{anchor}\" fill=\"#222\">{text}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;

    #[test]
    fn two_groups_have_four_bunches_eight_tiles_and_sixteen_lanes() {
        let svg = drawing();
        let boxes =
            |entries: u32| svg.matches(&format!("width=\"{}\" height=\"{BOX}\"", entries * ENTRY)).count();
        assert_eq!([32, 16, 8, 4, 1].map(boxes), [2, 4, 8, 16, 64]);
    }

    #[test]
    fn a_drawing_that_differs_is_found() {
        let of =
            |text: &str| is_drawn(&Workspace { tree: Tree::of(&[(PATH, text)]), ..Workspace::default() });
        assert_eq!(of(&drawing()), [""; 0]);
        assert_eq!(of("<svg/>").len(), 1);
        assert_eq!(is_drawn(&Workspace::default()).len(), 1);
    }
}
