"""The style of pages: light, dark, on a phone, on paper. Colours of fates also differ in brightness, and each fate
has a shape, for people who see few colours."""

LIGHT = """
  --paper: #ffffff; --ink: #1d2329; --soft: #56616c; --grid: #e3e7eb; --faint: #8a949e; --panel: #f5f7f9;
  --edge: #8a949e66;
  --on-time: #2f6ca8; --adjusted: #c98300; --dropped: #b0246f; --quarantined: #6d7278; --water: #00796b;
"""
DARK = """
  --paper: #14181c; --ink: #e4e8ec; --soft: #a5afb9; --grid: #2b3239; --faint: #7c8791; --panel: #1d2329;
  --edge: #ffffff2e;
  --on-time: #7db5ea; --adjusted: #f3b63c; --dropped: #f07fb9; --quarantined: #a9b0b7; --water: #4cc9b5;
"""

_COLOURS = f"""
:root {{ color-scheme: light dark; {LIGHT} }}
@media (prefers-color-scheme: dark) {{
  :root {{ {DARK} }}
}}
"""

STYLE = (
    _COLOURS
    + """* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
main { max-width: 66rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--grid) }
h3 { font-size: 1.02rem; margin: 1.25rem 0 .25rem }
a { color: var(--on-time) }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1rem; list-style: none; margin: 0; padding: 0 }
.quiet, figcaption { color: var(--soft); font-size: .92rem }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .6rem; margin: 1rem 0 }
.facts div { background: var(--panel); border-left: 4px solid var(--faint); padding: .5rem .75rem }
.facts dt { font-size: .9rem; color: var(--soft) }
.facts dd { margin: 0; font-size: 1.3rem; font-variant-numeric: tabular-nums }
.facts .on-time { border-color: var(--on-time) } .facts .adjusted { border-color: var(--adjusted) }
.facts .dropped { border-color: var(--dropped) } .facts .quarantined { border-color: var(--quarantined) }
.shares { display: block; width: 5rem; height: .8rem; margin-top: .3rem }
.shares .on-time { fill: var(--on-time) } .shares .adjusted { fill: var(--adjusted) }
.shares .dropped { fill: var(--dropped) } .shares .quarantined { fill: var(--quarantined) }
.look { background: var(--panel); border-left: 4px solid var(--dropped); padding: .5rem .9rem .6rem; margin: 1rem 0 }
.look h2 { font-size: 1.02rem; margin: 0; padding: 0; border: 0 }
.look p, .look ul { margin: .4rem 0 }
.look .first { font-size: 1.1rem; line-height: 1.45; max-width: 60rem }
.calm { border-left: 4px solid var(--on-time); background: var(--panel); padding: .5rem .9rem; margin: 1rem 0 }
.wide { overflow-x: auto; margin: .5rem 0 1rem;
  background:
    linear-gradient(to right, var(--paper) 40%, transparent) left / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 40%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to right, var(--edge), transparent) left / 1rem 100% no-repeat scroll,
    linear-gradient(to left, var(--edge), transparent) right / 1rem 100% no-repeat scroll }
.more { display: none; position: sticky; left: 0; width: max-content; color: var(--soft); font-size: .85rem }
@supports (container-type: scroll-state) {
  .wide { container-type: scroll-state }
  @container scroll-state(scrollable: right) { .more { display: block } }
}
table { border-collapse: collapse; font-size: .92rem; min-width: 100% }
th, td { padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--grid); text-align: left; vertical-align: top;
  white-space: nowrap; overflow-wrap: normal }
th { font-weight: 600; color: var(--soft) }
.number { text-align: right; font-variant-numeric: tabular-nums }
.number + :not(.number) { padding-left: .9rem }
td .long { max-width: 40rem; display: block; min-width: 16rem; white-space: normal; overflow-wrap: anywhere }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere }
figure { margin: 1rem 0 2rem; break-inside: avoid }
figcaption { max-width: 46rem; margin-top: .25rem }
.badge { display: inline-block; font-size: .85rem; font-weight: 600; padding: 0 .5rem; border-radius: 1rem;
  border: 1px solid var(--faint); white-space: nowrap }
.badge.failed { border-color: var(--dropped); color: var(--dropped) }
.badge.held { border-color: var(--grid); font-weight: 400 }
.lineage { display: block; font-size: 13px }
.lineage text { fill: var(--soft) } .lineage rect + text { fill: var(--ink); font-weight: 600 }
.lineage rect { fill: var(--panel); stroke: var(--faint) } .lineage .between rect { stroke-dasharray: 4 3 }
.lineage .published rect { stroke: var(--water); stroke-width: 2 }
.lineage path { fill: none; stroke: var(--faint); stroke-width: 1.5 }
svg.drawing { display: block; width: 100%; height: auto; overflow: visible }
.only-narrow { display: none; max-width: 34rem }
@media (max-width: 799px) {
  .only-wide { display: none }
  .only-narrow { display: block }
}
@media (min-width: 1500px) {
  main:has(> .contents) { max-width: 92rem; padding-left: 15rem }
  .contents { position: fixed; top: 1.75rem; width: 12rem; margin-left: -14rem }
  .contents ul { flex-direction: column }
  main:has(> .contents) .wide { width: max-content; min-width: 100%; max-width: calc(50vw + 29rem) }
}
@media print {
  :root {
    color-scheme: light;
    --paper: #ffffff; --ink: #000000; --soft: #333333; --grid: #dddddd; --faint: #777777; --panel: #ffffff;
    --on-time: #2f6ca8; --adjusted: #c98300; --dropped: #b0246f; --quarantined: #6d7278; --water: #00796b;
  }
  body { font-size: 11pt }
  main { max-width: none; padding: 0 }
  nav { display: none }
  .wide { overflow: visible; background: none }
  .more { display: none }
  table { font-size: 8.5pt }
  th, td { white-space: normal; overflow-wrap: anywhere; padding-right: .4rem }
  td .long { min-width: 0 }
  h2, h3 { break-after: avoid }
  tr, .facts div { break-inside: avoid }
  .only-wide { display: block }
  .only-narrow { display: none }
  svg.drawing { max-height: 13cm }
  a { color: inherit; text-decoration: none }
}
"""
)
