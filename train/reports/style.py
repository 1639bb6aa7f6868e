"""The style of the page: dark or light as the reader's system is."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark;
  --paper: #fbfaf8; --card: #ffffff; --ink: #23262b; --soft: #6a7079; --line: #e4e2dd;
  --right: 20, 110, 180; --wrong: 200, 70, 30;
  --run-0: #1668a8; --run-1: #c2571a; --run-2: #2b8a4b; --run-3: #8a4bb0;
  --run-4: #b8860b; --run-5: #0f8b8d; --run-6: #b83280; --run-7: #5f6b7a; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #15171a; --card: #1c1f24; --ink: #e4e6e9; --soft: #9aa1ab; --line: #32363d;
  --right: 90, 170, 235; --wrong: 240, 130, 80;
  --run-0: #64b2f2; --run-1: #f2965b; --run-2: #66c98a; --run-3: #c596ea;
  --run-4: #e0b84c; --run-5: #4fc9cb; --run-6: #ee7fbd; --run-7: #a9b4c2; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 24px 80px; }
h1 { font-size: 30px; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 6px; }
h2 { font-size: 21px; letter-spacing: -0.01em; margin: 56px 0 12px; padding-top: 18px;
  border-top: 1px solid var(--line); overflow-wrap: anywhere; }
h3 { font-size: 15px; margin: 30px 0 8px; }
p { margin: 6px 0 12px; max-width: 76ch; }
.soft, caption, figcaption { color: var(--soft); }
.dot { display: inline-block; width: 11px; height: 11px; border-radius: 50%;
  margin-right: 8px; vertical-align: baseline; }
.key { display: inline-block; margin-right: 22px; white-space: nowrap; }
.key i { display: inline-block; width: 26px; margin-right: 8px; vertical-align: middle;
  border-top: 2.5px solid var(--soft); }
.key i.dashed { border-top: 2px dashed var(--soft); }
.key i.mark { width: 10px; height: 10px; border: 0; border-radius: 50%; background: var(--soft); }
.row { display: flex; flex-wrap: wrap; gap: 20px; margin-bottom: 20px; }
.row > * { flex: 1 1 420px; min-width: 0; }
figure { margin: 0; padding: 16px 16px 8px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
figure svg { width: 100%; height: auto; display: block; }
figure.square { max-width: 520px; }
svg text { font-family: inherit !important; }
figcaption { font-size: 13px; margin-bottom: 6px; }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; margin: 8px 0 12px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); white-space: nowrap; }
th, td { padding: 7px 12px; border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
td.number, th.number { text-align: right; white-space: nowrap; }
td.short { white-space: nowrap; }
td.best { font-weight: 700; }
.small { font-size: 12.5px; color: var(--soft); }
.confusion td, .confusion th { border: 0; text-align: center; padding: 6px 4px; min-width: 46px; }
.confusion tbody th, .confusion .rate { text-align: right; padding: 6px 12px; color: var(--soft); }
.confusion tbody th { color: var(--ink); }
.confusion td { border-radius: 5px; }
.confusion tbody tr:last-child td { text-align: center; padding: 6px 4px; }
.confusion { width: auto; border-collapse: separate; border-spacing: 2px; margin: 8px; }
.zero { color: var(--line); }
.gallery { display: flex; flex-wrap: wrap; gap: 14px; margin: 12px 0; }
.gallery figure { padding: 10px; width: 132px; }
.gallery img { width: 110px; height: 110px; object-fit: contain; image-rendering: pixelated;
  background: var(--paper); border-radius: 5px; display: block; }
.gallery figcaption { margin: 8px 0 0; line-height: 1.35; color: var(--ink);
  overflow-wrap: anywhere; }
.scenes figure { width: 236px; }
.scenes img { width: 214px; height: 214px; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 16px; white-space: pre-wrap; overflow-wrap: anywhere;
  font: 13px/1.5 ui-monospace, "SF Mono", Menlo, monospace; }
.note { border-left: 4px solid rgb(var(--wrong)); padding: 8px 14px; background: var(--card);
  border-radius: 0 8px 8px 0; }
@media print { h2 { break-after: avoid; } figure, .wide { break-inside: avoid; } }
"""
