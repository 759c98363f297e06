//! Style and script of the page, written into it.

use std::fmt::Write;

/// Hues of the colour circle that are told apart.
const HUES: usize = 12;
/// Steps between the hues of neighbours, which have no divisor in common with [`HUES`].
const STRIDE: usize = 5;
/// Each hue comes light and dark.
const COLOURS: usize = 2 * HUES;

/// The class of a series, and the name of its colour: [`style`] has those of so many series. No two of the first 24 are alike.
pub(crate) fn series(at: usize) -> String {
    format!("s{}", at % COLOURS)
}

/// The hue of a colour, in degrees, and whether it is the darker one of the two.
fn colour(at: usize) -> (usize, bool) {
    let hue = at * STRIDE % HUES;
    // Neighbours on the circle differ in lightness too.
    (hue * 360 / HUES + HUE_OF_FIRST, (at / HUES + hue) % 2 == 1)
}

/// Blue.
const HUE_OF_FIRST: usize = 255;

/// The style of the page, with a class and a colour for each of so many series.
pub(crate) fn style(n_series: usize) -> String {
    let mut style = STYLE.to_owned();
    for at in 0..n_series.min(COLOURS) {
        let (name, (hue, is_dark)) = (series(at), colour(at));
        let lightness = if is_dark { "dark" } else { "light" };
        let _ = writeln!(
            style,
            ".{name}{{--series:oklch(var(--{lightness}) var(--chroma) {hue});fill:var(--series);background:var(--series)}}"
        );
    }
    style
}

/// Both colour schemes hold 3:1 for shapes and 4.5:1 for text against their background.
const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fff;--panel:#f5f7f9;--ink:#16202b;--soft:#505c69;--line:#d5dbe1;--bad:#b3141f;\
--badbg:#fdecec;--roof:#b3141f;--accent:#0b5fc0;--light:.62;--dark:.44;--chroma:.14}
@media (prefers-color-scheme:dark){:root{--bg:#11161c;--panel:#1a2129;--ink:#e6ebf0;--soft:#a5b0bb;--line:#323c47;\
--bad:#ff8a8a;--badbg:#3a1c20;--roof:#ff8a8a;--accent:#5ea9ff;--light:.84;--dark:.64;--chroma:.12}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif}
main{max-width:1320px;margin:0 auto;padding:1.5rem 1rem 3rem}
h1{font-size:1.6rem;margin:0 0 .75rem;line-height:1.2}
h2{font-size:1.15rem;margin:2rem 0 .4rem}
h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
p{margin:.2rem 0 .6rem;color:var(--soft)}
code{font:.9em ui-monospace,'DejaVu Sans Mono',monospace;overflow-wrap:anywhere}
.facts{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:0 0 .75rem}
.facts dt{font-size:.8rem;color:var(--soft)}
.facts dd{margin:0;font-weight:600;overflow-wrap:anywhere}
.formulas{margin:0;padding-left:1.2rem;font-size:.9rem}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:6px}
.tall{max-height:80vh;overflow-y:auto}
.scroll:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:1px}
table{border-collapse:separate;border-spacing:0;font-size:.84rem;font-variant-numeric:tabular-nums}
th,td{padding:.28rem .6rem;text-align:left;white-space:nowrap;border-bottom:1px solid var(--line);font-weight:400}
tbody tr:last-child>*{border-bottom:0}
thead th{background:var(--panel);font-weight:600;position:sticky;top:0;z-index:1}
tbody th,.sortable thead th:first-child{position:sticky;left:0;background:var(--bg)}
.sortable thead th:first-child{background:var(--panel);z-index:2}
.num{text-align:right;font-variant-numeric:tabular-nums}
p.num{text-align:left}
button{all:unset;cursor:pointer;font:inherit}
[aria-sort=ascending] button::after{content:' \\25B2'}
[aria-sort=descending] button::after{content:' \\25BC'}
.failed>*,tbody .failed th{background:var(--badbg)}
.bad{color:var(--bad);font-weight:600}
svg .bad{fill:var(--bad);font-size:13px}
.twin{font-size:.72rem;padding:0 .35em;border:1px solid var(--soft);border-radius:4px;color:var(--soft);font-weight:400}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:0 0 .5rem;padding:0;font-size:.85rem}
.legend i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em}
svg{display:block}
.chart text{font:11px system-ui,-apple-system,'Segoe UI',sans-serif;fill:var(--soft);font-variant-numeric:tabular-nums}
.chart .name{fill:var(--ink)}
.chart .bad{fill:var(--bad);font-size:13px;font-weight:700}
.chart .rooftext{fill:var(--roof)}
.grid{stroke:var(--line);fill:none}
.axis,.leader{stroke:var(--soft);fill:none}
.leader{stroke-width:.7}
.roof{stroke:var(--roof);stroke-width:2;fill:none}
.spread{stroke:var(--ink);stroke-width:1;fill:none;filter:drop-shadow(0 0 1px var(--bg)) drop-shadow(0 0 1px var(--bg))}
.chart .value{font-size:9.5px;fill:var(--ink)}
path.line{fill:none;stroke:var(--series);stroke-width:1.5}
circle{stroke:var(--bg);stroke-width:1}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26.5rem),1fr));gap:1rem}
article{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.7rem .8rem;min-width:0}
article p{font-size:.85rem}
.pair{display:flex;flex-wrap:wrap;gap:.8rem;align-items:flex-start}
.spy{background:var(--bg);border:1px solid var(--line);fill:var(--accent)}
@media print{.scroll,.tall{overflow:visible;max-height:none}}
";

/// Sorts a table by the column whose heading is pressed; cells without a number stay last.
pub(crate) const SCRIPT: &str = "\
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector('button').addEventListener('click', () => {
    const down = head.getAttribute('aria-sort') === 'ascending';
    heads.forEach(h => h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const sign = down ? -1 : 1, body = table.tBodies[0];
    const numeric = head.classList.contains('num');
    const compare = (a, b) => {
      const s = a.cells[column], t = b.cells[column];
      if (!numeric) return sign * s.textContent.localeCompare(t.textContent);
      const u = s.dataset.v, v = t.dataset.v;
      if (u === undefined || v === undefined) return (u === undefined) - (v === undefined);
      return sign * (u - v);
    };
    body.append(...[...body.rows].sort(compare));
  }));
}
";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn two_dozen_series_have_colours_of_their_own() {
        let colours: BTreeSet<_> = (0..COLOURS).map(colour).collect();
        assert_eq!(colours.len(), COLOURS);
        // Whoever has few series has hues far from each other.
        for (one, next) in (0..HUES - 1).map(|at| (colour(at).0, colour(at + 1).0)) {
            assert!((90..=270).contains(&one.abs_diff(next)), "{one} {next}");
        }
        let style = style(30);
        assert_eq!(style.matches("{--series:").count(), COLOURS);
        assert!((0..30).all(|at| style.contains(&format!(".{}{{", series(at)))));
    }

    /// Luminance of gray of a lightness of OKLab, which is its cube; colours of that lightness differ little.
    fn contrast(one: f64, other: f64) -> f64 {
        let (one, other) = (one.powi(3) + 0.05, other.powi(3) + 0.05);
        one.max(other) / one.min(other)
    }

    #[test]
    fn colours_stand_out_from_the_background_of_either_scheme() {
        let numbers = |name: &str| {
            let ends = STYLE.match_indices(name).map(|(at, _)| &STYLE[at + name.len()..]);
            ends.map(|rest| rest.split([';', '}']).next().unwrap().parse::<f64>().unwrap())
                .collect::<Vec<_>>()
        };
        // White, and #11161c.
        let backgrounds = [1.0, 0.2];
        for (scheme, background) in backgrounds.into_iter().enumerate() {
            for lightness in [numbers("--light:")[scheme], numbers("--dark:")[scheme]] {
                assert!(contrast(lightness, background) >= 3.0, "{lightness} on {background}");
            }
        }
    }
}
