//! Style and script of the page, written into it.

/// Colours of series in [`STYLE`]: `s0`, `s1`, ...
pub(crate) const COLOURS: usize = 10;

/// Both colour schemes hold 3:1 for shapes and 4.5:1 for text against their background.
pub(crate) const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fff;--panel:#f5f7f9;--ink:#16202b;--soft:#505c69;--line:#d5dbe1;--bad:#b3141f;\
--badbg:#fdecec;--roof:#b3141f;
--c0:#0b5fc0;--c1:#c4500a;--c2:#00796b;--c3:#8e3fa8;--c4:#8a6d00;--c5:#b8336a;--c6:#5a6672;--c7:#3d7a1f;\
--c8:#7a4b2a;--c9:#1b7f9e}
@media (prefers-color-scheme:dark){:root{--bg:#11161c;--panel:#1a2129;--ink:#e6ebf0;--soft:#a5b0bb;--line:#323c47;\
--bad:#ff8a8a;--badbg:#3a1c20;--roof:#ff8a8a;
--c0:#5ea9ff;--c1:#ff9a57;--c2:#3fc6b3;--c3:#cf90e6;--c4:#d8b93c;--c5:#f587b0;--c6:#a3afbb;--c7:#8ccb6a;\
--c8:#cf9d77;--c9:#66c8e6}}
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
.scroll:focus-visible,button:focus-visible{outline:2px solid var(--c0);outline-offset:1px}
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
circle{stroke:var(--bg);stroke-width:1}
.panels{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26.5rem),1fr));gap:1rem}
article{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.7rem .8rem;min-width:0}
article p{font-size:.85rem}
.pair{display:flex;flex-wrap:wrap;gap:.8rem;align-items:flex-start}
.spy{background:var(--bg);border:1px solid var(--line);fill:var(--c0)}
.s0{fill:var(--c0);background:var(--c0)}.s1{fill:var(--c1);background:var(--c1)}
.s2{fill:var(--c2);background:var(--c2)}.s3{fill:var(--c3);background:var(--c3)}
.s4{fill:var(--c4);background:var(--c4)}.s5{fill:var(--c5);background:var(--c5)}
.s6{fill:var(--c6);background:var(--c6)}.s7{fill:var(--c7);background:var(--c7)}
.s8{fill:var(--c8);background:var(--c8)}.s9{fill:var(--c9);background:var(--c9)}
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
