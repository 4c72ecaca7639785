#include "driver/report/style.hpp"

namespace whorl::driver::report {

namespace {

constexpr std::string_view sheet = R"(
:root {
  color-scheme: light dark;
  --page: #ffffff; --plot: #f7f8fa; --ink: #1b1f24; --soft: #57606a; --rule: #d5dae0;
  --grid: #e3e7ec; --wash: #f3f5f7; --good: #1a7f4b; --caution: #8a5a00; --bad: #b3261e;
  --c0: #0067a5; --c1: #c8500a; --c2: #00856a; --c3: #b0568c;
  --c4: #b07a00; --c5: #3a94c9; --c6: #7a4fb5; --c7: #5f6670;
  --s0: #f4f7fb; --s1: #dfeaf4; --s2: #c9dced; --s3: #b0cde4; --s4: #94bbd9;
  --s5: #76a7cc; --s6: #5892bd; --s7: #3d7bab; --s8: #276493; --s9: #164d78;
  --contour: #ffffff99; --exact: #1b1f24;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15181c; --plot: #1b1f25; --ink: #e6e9ed; --soft: #a0a8b2; --rule: #3a414a;
    --grid: #2b3138; --wash: #1d2127; --good: #57c78b; --caution: #e3b341; --bad: #ff8a80;
    --c0: #58aee8; --c1: #ff9256; --c2: #3fcfa6; --c3: #ea9fcb;
    --c4: #f0c04a; --c5: #9ad6fa; --c6: #bb9bf0; --c7: #a9b1bb;
    --s0: #1a222c; --s1: #1e2e3f; --s2: #213b52; --s3: #254a67; --s4: #2b5a7c;
    --s5: #346c92; --s6: #427fa8; --s7: #5894bc; --s8: #77aacd; --s9: #9dc3de;
    --contour: #00000066; --exact: #ffffff;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 1.75em; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 1.3em; margin: 44px 0 6px; padding-top: 10px; border-top: 1px solid var(--rule); }
h3 { font-size: 1.05em; margin: 24px 0 4px; }
p { margin: 6px 0 12px; max-width: 78ch; }
.soft, figcaption, caption { color: var(--soft); }
nav { margin: 8px 0 0; font-size: .93em; }
nav a { margin-right: 14px; }
a { color: var(--c0); }
code { font: .9em ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre {
  background: var(--wash); border: 1px solid var(--rule); border-radius: 6px; padding: 12px 14px;
  overflow-x: auto; font-size: .86em; line-height: 1.45; white-space: pre-wrap;
}
summary { cursor: pointer; font-weight: 600; margin: 10px 0; }
.verdict {
  border-left: 5px solid var(--soft); background: var(--wash); border-radius: 0 6px 6px 0;
  padding: 10px 14px; margin: 12px 0;
}
.verdict p { margin: 0; max-width: none; }
.verdict p + p { margin-top: 4px; }
.good { border-color: var(--good); } .good .head { color: var(--good); }
.caution { border-color: var(--caution); } .caution .head { color: var(--caution); }
.bad { border-color: var(--bad); } .bad .head { color: var(--bad); }
.head { font-weight: 650; }
.scroll { overflow-x: auto; margin: 10px 0; }
table { border-collapse: collapse; font-size: .9em; font-variant-numeric: tabular-nums; }
caption { caption-side: bottom; text-align: left; padding-top: 6px; }
th, td { padding: 5px 7px; text-align: right; border-bottom: 1px solid var(--rule); }
thead th { vertical-align: bottom; font-weight: 600; line-height: 1.25; }
th.text, td.text { text-align: left; }
tbody th { text-align: left; font-weight: 600; white-space: nowrap; }
tbody th .key { display: inline-block; width: 12px; height: 12px; border-radius: 3px;
  margin-right: 7px; background: var(--c); vertical-align: -1px; }
td.best { font-weight: 700; } td.warn { color: var(--bad); font-weight: 600; }
tr.published td, tr.published th { color: var(--soft); font-style: italic; font-weight: 400; }
td, tbody th { white-space: nowrap; } td.text { white-space: normal; min-width: 11ch; }
thead th { max-width: 14ch; } .small { font-size: .9em; }
figure { margin: 8px 0 16px; }
figcaption { font-size: .9em; max-width: 90ch; margin-top: 2px; }
figure.chart > h4, .number h4 { margin: 0 0 2px; font-size: .98em; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(500px, 100%), 1fr)); gap: 8px 20px; }
.triple { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(350px, 100%), 1fr)); gap: 8px 14px; }
.four { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(255px, 100%), 1fr)); gap: 4px 12px; }
.number { border-top: 1px solid var(--grid); padding: 10px 0 6px; }
.number p { margin: 0 0 6px; max-width: none; font-size: .92em; }
.four h5 { margin: 0; font-size: .86em; font-weight: 600; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 16px; margin: 8px 0 14px; }
@media (max-width: 640px) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 6px; } }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
svg { display: block; max-width: 100%; height: auto; overflow: visible; }
svg svg { display: inline; overflow: hidden; }
svg text { font-family: inherit; fill: var(--ink); font-size: 12px; }
svg .tick { font-size: 10.5px; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .name { fill: var(--soft); }
svg .note { font-size: 10.5px; fill: var(--soft); }
svg .halo { paint-order: stroke; stroke: var(--page); stroke-width: 3px; stroke-linejoin: round; }
svg .plot { fill: var(--plot); }
svg .grid { stroke: var(--grid); fill: none; }
svg .axis { stroke: var(--soft); fill: none; }
svg .line { stroke: var(--c); fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
svg .thin-line { stroke-width: .9; opacity: .75; }
svg .pale { stroke-width: .8; opacity: .4; }
svg .dashed { stroke-dasharray: 7 4; } svg .dotted { stroke-dasharray: 2 4; }
svg text.dashed, svg text.dotted, svg .bar.dashed, svg .leader { stroke-dasharray: none; }
svg .leader { stroke: var(--c); stroke-width: 1; opacity: .55; fill: none; }
svg .label { fill: var(--c); font-weight: 600; }
svg .stem { stroke: var(--c); stroke-width: 2; }
svg .level { stroke: var(--soft); stroke-dasharray: 5 4; fill: none; }
svg .band { fill: var(--soft); opacity: .14; }
svg .bar { fill: var(--c); opacity: .62; }
svg .exact { stroke: var(--exact); stroke-width: 1.6; }
svg .mean { fill: var(--ink); }
svg .mark { fill: var(--page); stroke: var(--ink); stroke-width: 1.6; }
svg .whisker { stroke: var(--ink); fill: none; stroke-width: 1.2; } svg .thin { stroke-width: .6; }
svg .hover { fill: transparent; stroke: none; } svg .hover:hover { fill: var(--c7); opacity: .5; }
svg .contour { stroke: var(--contour); stroke-width: .8; }
svg .path-halo { stroke: var(--page); stroke-width: 3; fill: none; opacity: .55; stroke-linejoin: round; }
svg .path { stroke: var(--c); stroke-width: 1.15; fill: none; stroke-linejoin: round; opacity: .9; }
svg .dot { fill: var(--c); }
svg .begin { fill: var(--page); stroke: var(--c); stroke-width: 2; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); } .c7 { --c: var(--c7); }
.s0 { fill: var(--s0); } .s1 { fill: var(--s1); } .s2 { fill: var(--s2); } .s3 { fill: var(--s3); }
.s4 { fill: var(--s4); } .s5 { fill: var(--s5); } .s6 { fill: var(--s6); } .s7 { fill: var(--s7); }
.s8 { fill: var(--s8); } .s9 { fill: var(--s9); }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  body { font-size: 9.5pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  a { color: inherit; text-decoration: none; }
  h2 { margin-top: 20px; }
  h2, h3, h4, summary { break-after: avoid; }
  figure, .number, .verdict, tr { break-inside: avoid; }
  .scroll { overflow: visible; }
  table { font-size: .84em; }
  .pair { grid-template-columns: repeat(2, 1fr); }
  .triple { grid-template-columns: repeat(3, 1fr); }
  .four { grid-template-columns: repeat(4, 1fr); }
  .bar, .band, .plot, .contour, .key, .verdict, svg rect { print-color-adjust: exact; }
}
)";

}  // namespace

std::string_view style_sheet() { return sheet; }

}  // namespace whorl::driver::report
