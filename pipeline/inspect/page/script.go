package page

import (
	"crypto/sha256"
	"encoding/base64"
)

// longTable is from how many rows on a table can be searched and sorted.
const longTable = 12

// long reports whether a page has such a table.
func (p *Page) long() bool {
	for i := range p.Sections {
		for _, x := range p.Sections[i].Parts {
			if t, ok := x.(*Table); ok && t.long() {
				return true
			}
		}
	}
	return false
}

func (t *Table) long() bool { return t.Head != nil && len(t.Rows) >= longTable }

// allowed is what the page may run: the script below and nothing else.
func (p *Page) allowed() string {
	if !p.long() {
		return ""
	}
	sum := sha256.Sum256([]byte(script))
	return "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// script makes long tables searchable and their heads buttons that sort. Without it the
// tables are there as they are. Numbers sort as numbers, whatever separators they have;
// empty cells come last.
const script = `
for (const table of document.querySelectorAll("table.long")) {
  const body = table.tBodies[0], rows = [...body.rows];
  const bar = document.createElement("p"), input = document.createElement("input"), count = document.createElement("span");
  bar.className = "search"; count.setAttribute("role", "status");
  input.type = "search"; input.placeholder = "search " + rows.length + " rows"; input.setAttribute("aria-label", "search the table");
  bar.append(input, " ", count);
  table.parentNode.before(bar);
  const texts = rows.map(r => r.textContent.toLowerCase());
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    rows.forEach((r, i) => { r.hidden = !words.every(w => texts[i].includes(w)); n += !r.hidden; });
    count.textContent = words.length ? n + " of " + rows.length : "";
  });
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((th, k) => {
    const button = document.createElement("button");
    button.type = "button"; button.append(...th.childNodes); th.append(button);
    button.addEventListener("click", () => {
      const up = th.getAttribute("aria-sort") !== "ascending";
      heads.forEach(h => h.removeAttribute("aria-sort"));
      th.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = r => (r.cells[k] ? r.cells[k].textContent.trim() : "");
      const number = s => (/^[-+\d.]/.test(s) ? parseFloat(s.replace(/,/g, "")) : NaN);
      const keyed = rows.map((r, i) => { const s = value(r); return { r, i, s, n: number(s), none: s === "" || s === "-" }; });
      keyed.sort((a, b) => {
        if (a.none || b.none) return a.none - b.none || a.i - b.i;
        const d = isNaN(a.n) || isNaN(b.n) ? (isNaN(a.n) - isNaN(b.n) || a.s.localeCompare(b.s, "en", { numeric: true })) : a.n - b.n;
        return (up ? d : -d) || a.i - b.i;
      });
      body.append(...keyed.map(x => x.r));
    });
  });
}
`
