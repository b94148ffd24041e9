package page

// style is the page's whole appearance. Charts take their colours from it, so that
// light, dark and print are decided in one place.
var style = rightStyle() + `
:root {
  color-scheme: light dark;
  --back: #ffffff; --card: #f6f7f9; --text: #1a1f29; --soft: #5b6473; --rule: #d9dde3;
  --t0: #2463c9; --t1: #c2630a; --t2: #15803d; --t3: #7a3fc4; --t4: #c62a2f; --t5: #64707f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171c; --card: #1d2128; --text: #e7eaef; --soft: #a2abb9; --rule: #363d48;
    --t0: #6ea8ff; --t1: #f0a04b; --t2: #5cc98a; --t3: #b692f6; --t4: #ff7b7b; --t5: #98a3b3;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 960px; margin: 0 auto; padding: 28px clamp(12px, 4vw, 20px) 48px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 4px; padding-top: 12px; border-top: 1px solid var(--rule); }
h3 { font-size: 14px; margin: 18px 0 2px; }
p { margin: 4px 0 8px; max-width: 75ch; overflow-wrap: anywhere; }
.lead, section > p, footer, figcaption { color: var(--soft); }
footer { margin-top: 36px; padding-top: 12px; border-top: 1px solid var(--rule); font-size: 13px; overflow-wrap: anywhere; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 165px), 1fr)); gap: 12px; margin: 20px 0; }
.figures div { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 10px 14px; }
.figures dt { color: var(--soft); font-size: 13px; overflow-wrap: anywhere; }
.figures dd { margin: 0; font-size: 21px; font-weight: 600; line-height: 1.3; overflow-wrap: anywhere; }
.figures dd.note { font-size: 12.5px; font-weight: 400; color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 8px 0; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: 4px 18px 4px 0; border-bottom: 1px solid var(--rule); overflow-wrap: anywhere; }
thead th { color: var(--soft); font-weight: 600; font-size: 13px; white-space: nowrap; }
tbody th { font-weight: 400; color: var(--soft); white-space: nowrap; }
thead button { all: unset; cursor: pointer; } thead button:focus-visible, a:focus-visible, .scroll:focus-visible, input:focus-visible { outline: 2px solid var(--t0); outline-offset: 2px; }
th[aria-sort=ascending]::after { content: " \2191"; } th[aria-sort=descending]::after { content: " \2193"; }
.notes td:last-child { color: var(--t1); }
a { color: var(--t0); text-decoration: none; } a:hover, a:focus { text-decoration: underline; }
.search input { font: inherit; font-size: 14px; width: min(100%, 320px); padding: 4px 10px; border: 1px solid var(--rule); border-radius: 6px; background: var(--card); color: inherit; }
section:target h2 { color: var(--t0); }
.scroll { max-height: 80vh; overflow-y: auto; } .long thead th { position: sticky; top: 0; background: var(--back); }
.dense { font-size: 13px; } .dense th, .dense td { padding-right: 10px; white-space: nowrap; }
section > figure { display: inline-block; vertical-align: top; width: min(100%, 444px); margin: 12px 12px 4px 0; }
section[id] { display: inline-block; vertical-align: top; width: min(100%, 452px); } section[id] h2 { overflow-wrap: anywhere; margin-top: 16px; }
figcaption { font-size: 13px; margin-bottom: 2px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; color: var(--text); margin: 2px 0; padding: 0; list-style: none; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 6px; }
.side { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 280px), 1fr)); gap: 0 16px; }
.side h3 { font-size: 14px; color: var(--soft); margin: 8px 0 0; } .side figure { margin: 6px 0; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: var(--soft); }
svg text.strong { fill: var(--text); }
svg .grid { stroke: var(--rule); stroke-width: 1; fill: none; }
svg .axis { stroke: var(--soft); stroke-width: 1; fill: none; }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .mark { fill: none; stroke-width: 1.4; stroke-dasharray: 6 4; }
svg .area { fill-opacity: .16; stroke: none; }
svg .block { stroke: var(--back); stroke-width: .6; }
.t0 { --c: var(--t0); } .t1 { --c: var(--t1); } .t2 { --c: var(--t2); } .t3 { --c: var(--t3); } .t4 { --c: var(--t4); } .t5 { --c: var(--t5); }
svg .fill { fill: var(--c); } svg .stroke { stroke: var(--c); } .legend i { background: var(--c); }
.legend i.dash { height: 0; width: 18px; border-top: 2px dashed var(--c); background: none; border-radius: 0; vertical-align: middle; }
.images { display: flex; flex-wrap: wrap; gap: 10px; margin: 8px 0; }
.images figure { margin: 0; }
.images img { display: block; max-width: 128px; max-height: 128px; min-width: 32px; image-rendering: auto; border: 1px solid var(--rule); border-radius: 4px; }
@media print { .search { display: none; } .scroll { max-height: none; } main { max-width: none; padding: 0; } section, figure { break-inside: avoid; } }
`
