"""The report's style sheet: one column of text, dense tables, light and dark."""

CSS = """
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#22262e;--soft:#4d545f;--muted:#7a828f;--faint:#d9dde3;--line:#e6e9ed;--accent:#2b5fa8;
--good:#2a7d4f;--good-bg:#e4f3ea;--bad:#b23a26;--bad-bg:#fae6e2;--open:#8a6410;--open-bg:#faf0d9;--none:#69717d;--none-bg:#eceef1;--plate:#fff}
@media(prefers-color-scheme:dark){:root{--page:#101317;--card:#171b21;--ink:#e4e7ec;--soft:#b9c0ca;--muted:#8b93a0;--faint:#363c46;--line:#272d36;--accent:#86b0ea;
--good:#7fd0a2;--good-bg:#17301f;--bad:#f0998a;--bad-bg:#3a1c17;--open:#e6c274;--open-bg:#352a12;--none:#a2aab6;--none-bg:#262b33;--plate:#e9ecf0}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main,header.top{max-width:1080px;margin:0 auto;padding:0 20px}
header.top{padding-top:44px}
h1{font:600 clamp(26px,4.2vw,36px)/1.15 ui-serif,Georgia,"Times New Roman",serif;margin:0 0 8px;letter-spacing:-.01em}
.lead{color:var(--soft);max-width:46em;margin:0 0 20px}
h2{font:600 21px/1.25 ui-serif,Georgia,"Times New Roman",serif;margin:48px 0 6px;scroll-margin-top:52px}
h3{font-size:15px;margin:26px 0 4px}
p.note{color:var(--soft);font-size:13.5px;max-width:56em;margin:4px 0 14px}
nav{position:sticky;top:0;z-index:2;background:var(--page);border-bottom:1px solid var(--line);margin-top:22px}
nav div{max-width:1080px;margin:0 auto;padding:0 20px;display:flex;gap:20px;overflow-x:auto;white-space:nowrap}
nav a{color:var(--soft);text-decoration:none;font-size:13.5px;padding:10px 0;border-bottom:2px solid transparent}
nav a:hover,nav a:focus-visible{color:var(--ink);border-color:var(--accent)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(44%,200px),1fr));gap:10px;margin:0 0 10px}
.tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px}
.tile b{display:block;font:600 25px/1.2 ui-serif,Georgia,serif;font-variant-numeric:tabular-nums lining-nums}
.tile span{color:var(--soft);font-size:12.5px}
.tile.good b{color:var(--good)}.tile.bad b{color:var(--bad)}.tile.open b{color:var(--open)}.tile.none b{color:var(--none)}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:13px;line-height:1.4;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:6px 10px;vertical-align:top;border-top:1px solid var(--line)}
thead th{border-top:0;color:var(--soft);font-weight:600;font-size:12px;white-space:nowrap;border-bottom:1px solid var(--faint)}
tbody tr:hover{background:color-mix(in srgb,var(--accent) 5%,transparent)}
td.num,th.num{text-align:right;white-space:nowrap}
td.ci{white-space:nowrap}
td small,summary small{color:var(--muted);font-size:11.5px}
tbody th{font-weight:600;min-width:150px;max-width:230px}
.claims td.text{min-width:250px}
.claims td.where{color:var(--muted);font-size:12px;white-space:nowrap}
.claims details summary{cursor:pointer;list-style:none}
.claims details summary::-webkit-details-marker{display:none}
.claims details summary:hover{color:var(--accent)}
.claims details dl{margin:6px 0 4px;font-size:12px;color:var(--soft);display:grid;grid-template-columns:max-content 1fr;gap:2px 10px}
dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}
.badge{display:inline-block;border-radius:99px;padding:1px 9px;font-size:11.5px;font-weight:600;white-space:nowrap}
.badge.good{color:var(--good);background:var(--good-bg)}.badge.bad{color:var(--bad);background:var(--bad-bg)}
.badge.open{color:var(--open);background:var(--open-bg)}.badge.none{color:var(--none);background:var(--none-bg)}
.forest{display:block;width:120px;height:16px;overflow:visible}
figure{margin:14px 0 0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px 18px 12px}
figure.plate .art{background:var(--plate);border-radius:5px;padding:8px;--ink:#22262e;--soft:#4d545f;--muted:#7a828f;--faint:#d9dde3}
.art{overflow-x:auto}
.art svg{display:block;width:100%;min-width:520px;max-width:var(--w);height:auto;margin:0 auto}
.art svg *{stroke-linejoin:round;stroke-linecap:butt}
.art svg image{image-rendering:pixelated}
figcaption{color:var(--soft);font-size:13px;margin-top:10px;max-width:64em}
figcaption b{color:var(--ink)}
.clips{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:12px}
.clip{margin:0;padding:0;overflow:hidden}
.clip video{display:block;width:100%;height:auto;object-fit:contain;object-position:top;background:#101318}
.clip figcaption{padding:8px 12px 10px;margin:0;font-size:12.5px}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:12px}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:12px 16px;min-width:0}
.card h3{margin:0 0 6px;font-size:13.5px}
.card dl{margin:0;font-size:12.5px;display:grid;grid-template-columns:max-content 1fr;gap:2px 14px}
details.card{margin-top:12px}
details.card summary{cursor:pointer;font-weight:600;font-size:13.5px}
code,pre{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{overflow-x:auto;margin:8px 0 2px;color:var(--soft)}
footer{color:var(--muted);font-size:12.5px;max-width:1080px;margin:40px auto 0;padding:0 20px 40px}
@media(max-width:640px){body{font-size:14.5px}header.top{padding-top:26px}figure{padding:12px}th,td{padding:6px 8px}.clips{grid-template-columns:1fr}
.claims thead{display:none}.claims tbody tr{display:grid;grid-template-columns:1fr auto;gap:1px 12px;padding:9px 12px;border-top:1px solid var(--line)}
.claims td{border:0;padding:0;min-width:0}.claims td.text{grid-column:1/-1;order:1}.claims td.ours{order:2}.claims td.verdict{order:3;text-align:right}
.claims td.where{order:4}.claims td.paper{order:5;text-align:right}
.claims td.paper:not(:empty)::before{content:"paper ";color:var(--muted)}.claims td.draw,.claims td.n{display:none}}
@media print{nav{display:none}body{background:#fff}.scroll,figure,.card{break-inside:avoid}}
"""
