"""The page's style sheet: light and dark, on paper too. Called by: page.py."""

from __future__ import annotations

STYLE = """
:root {
  --page: #f7f8fa; --card: #ffffff; --ink: #1b232d; --soft: #5b6876; --line: #dde2e8; --link: #0b62b8;
  --compute: #c9d3dd; --wait: #e9edf1; --stripe: #c3ccd5; --good: #0a7d4f; --bad: #b3261e; --on: #14202b;
  --detect: #e07a4a; --fence: #f0b429; --rebuild: #d39ac2; --decide: #8a94a0; --restore: #6bb8ea; --resume: #4f8fd0;
  --replay: #49b58d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12171d; --card: #1a2129; --ink: #e4e9ee; --soft: #9aa7b4; --line: #2e3843; --link: #78b7f2;
    --compute: #3d4956; --wait: #222b34; --stripe: #3a4652; --good: #58c99a; --bad: #f28b82; --on: #0f1720;
  }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1500px; padding: 1.5rem; background: var(--page); color: var(--ink);
  font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
h3 .how-long { float: right; margin-left: 1rem; font-variant-numeric: tabular-nums; }
p { margin: .3rem 0; overflow-wrap: anywhere; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.soft, .about, caption, .tick, .from, .until { color: var(--soft); }
.good { color: var(--good); } .bad, .about.lost { color: var(--bad); }
.message { white-space: pre-wrap; }
.cards { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1rem 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem;
  min-width: 9rem; }
.card b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); }
.recovery, .panel { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem 1.2rem;
  margin: 0 0 1rem; }
.recovery { content-visibility: auto; contain-intrinsic-size: auto 480px; scroll-margin-top: 4rem; }
.recovery:target { border-color: var(--link); box-shadow: 0 0 0 1px var(--link); }
.legend { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; padding: .6rem 0;
  background: var(--page); border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
.legend i { position: static; display: inline-block; width: 1.4em; height: .9em; vertical-align: -.08em;
  margin-right: .4em; }
.chart { margin: .8rem 0; }
.row { display: flex; align-items: center; margin: 3px 0; }
.label { flex: 0 0 17rem; display: flex; justify-content: space-between; gap: .6rem; padding-right: .8rem;
  white-space: nowrap; min-width: 0; }
.label .name { overflow: hidden; text-overflow: ellipsis; }
.lane { position: relative; flex: 1; height: 22px; min-width: 0; }
.chart .row:first-child:not(:only-child) .lane { margin-bottom: 2px; }
.bar { position: absolute; top: 0; bottom: 0; min-width: 2px; overflow: hidden; white-space: nowrap; font-style: normal;
  font-size: 12px; line-height: 22px; padding-left: 0; text-indent: 5px; color: var(--on); border-radius: 2px; }
.compute { background: var(--compute); color: var(--ink); }
.waiting { color: var(--ink);
  background: repeating-linear-gradient(135deg, var(--wait) 0 5px, var(--stripe) 5px 6.5px); }
.detect { background: var(--detect); } .fence { background: var(--fence); } .rebuild { background: var(--rebuild); }
.decide { background: var(--decide); } .restore { background: var(--restore); } .resume { background: var(--resume); }
.replay { background: var(--replay); }
.mark { background: var(--bad); min-width: 4px; top: -3px; bottom: -3px; }
.mark:hover, .mark:focus { outline: 2px solid var(--link); }
.tick { position: absolute; transform: translateX(-50%); font-size: 12px; font-variant-numeric: tabular-nums; }
.tick::before { content: ""; position: absolute; left: 50%; top: -5px; height: 5px;
  border-left: 1px solid var(--soft); }
.from { position: absolute; left: 0; font-size: 12px; } .until { position: absolute; right: 0; font-size: 12px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .3rem 0; }
th, td { padding: .25rem .45rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 600; white-space: nowrap; }
td.text { overflow-wrap: anywhere; min-width: 6.5rem; }
td.text:first-child, td.text:nth-child(2) { min-width: 0; }
time { white-space: nowrap; }
.number { text-align: right; white-space: nowrap; }
tbody tr:hover { background: color-mix(in srgb, var(--link) 8%, transparent); }
summary { cursor: pointer; color: var(--soft); }
@media (max-width: 800px) { .label { flex-basis: 8rem; } body { padding: .8rem; } }
@page { size: landscape; margin: 12mm; }
@media print {
  :root { --page: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #bbb; --compute: #c9d3dd; --wait: #eee;
    --stripe: #bbb; --on: #000; --link: #000; }
  body { max-width: none; padding: 0; font-size: 10px; }
  .bar, .legend i { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .legend { position: static; }
  .recovery, .panel { content-visibility: visible; break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
