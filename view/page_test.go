package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/pipeline"
)

// shownAt serves inputs at an address until the test ends.
func shownAt(t *testing.T, inputs ...string) string {
	t.Helper()
	var in []pipeline.Inspection
	for _, name := range inputs {
		in = append(in, request(t, name))
	}
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- Serve(t.Context(), in, 0, func(a string) { ready <- a }) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-ready:
		return a
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return ""
}

const cards = `[...document.querySelectorAll(".sample")].map(c => Number(c.dataset.n))`

func (b *browser) numbers(script string) (list []int) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.eval(script)), &list); err != nil {
		b.t.Fatal(err)
	}
	return list
}

// set puts a value into an input and sends its form.
func (b *browser) set(form string, values map[string]string) {
	b.t.Helper()
	for id, v := range values {
		b.eval(fmt.Sprintf(`document.getElementById(%q).value = %q`, id, v))
	}
	b.eval(fmt.Sprintf(`document.getElementById("status").textContent = "", document.getElementById(%q).requestSubmit()`, form))
}

// healthy fails if a script of a value ran, a page made an error, or is wider than its window.
func (b *browser) healthy(where string) {
	b.t.Helper()
	if hit := b.eval(`String(window.hit)`); hit != `"undefined"` {
		b.t.Errorf("%s: a script in a value ran", where)
	}
	if wide := b.eval(`document.documentElement.scrollWidth > innerWidth`); wide != "false" {
		b.t.Errorf("%s: the page is wider than its window: %s", where, b.eval(`[...document.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.className).slice(0, 5)`))
	}
	for _, line := range b.log {
		b.t.Errorf("%s: %s", where, line)
	}
	b.log = nil
}

// TestABrowserShowsASet opens a page, turns it, filters, searches, sorts, opens a sample, changes it, and compares.
func TestABrowserShowsASet(t *testing.T) {
	b := newBrowser(t)
	input := rows(t, "a.jsonl", 100)
	set := convert(t, pipeline.Settings{Inputs: []string{input}, ShardSamples: 30, Encode: []string{"cls"}})
	other := convert(t, pipeline.Settings{Inputs: []string{input}, Encode: []string{"cls"}, Where: []string{"n < 60"}})
	address := shownAt(t, set, other)
	for _, width := range []int{1280, 390} {
		b.tab()
		b.open(address, width, width == 390)
		b.until(`document.querySelectorAll(".sample").length === 48`)
		if token := b.eval(`location.href.includes("token")`); token != "false" {
			t.Error("the token stays in the address line")
		}
		if back := b.eval(`getComputedStyle(document.body).backgroundColor`); back != map[int]string{1280: `"rgb(255, 255, 255)"`, 390: `"rgb(20, 23, 28)"`}[width] {
			t.Errorf("%d: the page is %s", width, back)
		}
		b.eval(`document.getElementById("with").value = "", document.getElementById("with").dispatchEvent(new Event("change"))`)
		b.until(cards + `.join() === "` + joined(0, 24) + `"`)
		if text := b.eval(`document.querySelector(".sample pre").textContent`); text != quoted("row 0 "+hostile) {
			t.Errorf("a text is %s", text)
		}
		b.healthy("the first page")
		b.shot(fmt.Sprintf("set-%d", width))
		b.key("n")
		b.until(cards + `.join() === "` + joined(24, 48) + `"`)
		b.key("p")
		b.until(cards + `.join() === "` + joined(0, 24) + `"`)

		b.set("tools", map[string]string{"where": `n % 10 == 3 && cls == "dog"`})
		b.until(`document.getElementById("status").textContent === "3 found in samples 0 to 99 of 100"`)
		if got := fmt.Sprint(b.numbers(cards)); got != "[13 43 73]" {
			t.Errorf("found %s", got)
		}
		b.set("tools", map[string]string{"where": "", "text": "ROW 7"})
		b.until(`document.getElementById("status").textContent.startsWith("11 found")`)
		b.set("tools", map[string]string{"text": "", "where": "n >"})
		b.until(`document.getElementById("status").className === "bad"`)
		for b.log == nil { // the browser may say it later than the page
			b.eval(`new Promise(done => setTimeout(done, 20))`)
		}
		if len(b.log) != 1 || !strings.Contains(b.log[0], "400") {
			t.Errorf("a wrong condition: %q", b.log)
		}
		b.log = nil
		b.set("tools", map[string]string{"where": "", "by": "big"})
		b.until(`document.getElementById("status").textContent.startsWith("Sorted by big: all 100")`)
		b.healthy("sorted")

		b.set("tools", map[string]string{"go": "57"})
		b.until(`document.getElementById("one").open && document.getElementById("onebody").textContent.includes("row 57 ")`)
		b.key("j")
		b.until(`document.getElementById("onebody").textContent.includes("row 58 ")`)
		b.shot(fmt.Sprintf("one-%d", width))
		b.set("augment", map[string]string{"ops": "noise=value,sigma=1", "seed": "3"})
		b.until(`document.querySelectorAll("#onebody > div").length === 2 && document.getElementById("onebody").textContent.includes("changed")`)
		b.eval(`document.getElementById("changes").open = true`)
		b.shot(fmt.Sprintf("augment-%d", width))
		b.healthy("one sample")
		b.key("Escape")
		b.until(`!document.getElementById("one").open`)

		b.eval(`document.getElementById("with").value = "1", document.getElementById("with").dispatchEvent(new Event("change"))`)
		b.until(`document.querySelectorAll("#columns.two > div").length === 2 && document.querySelectorAll(".sample").length === 48`)
		b.shot(fmt.Sprintf("compare-%d", width))
		for _, name := range []string{"figures", "difference", "order", "about"} {
			b.eval(`tab("` + name + `")`)
			if name == "order" {
				b.until(`document.querySelectorAll("#orderout tbody tr").length === 100`)
			}
			b.until(`document.querySelector("section:not([hidden]) iframe[aria-busy]") === null`)
			b.shot(fmt.Sprintf("%s-%d", name, width))
			b.healthy(name)
		}
	}
	var reports []string
	for _, id := range []string{"figuresframe", "differenceframe"} {
		reports = append(reports, strings.Trim(b.eval(`document.getElementById("`+id+`").src`), `"`))
	}
	figures := b.report(reports[0])
	if !strings.Contains(figures, "Figures side by side") || !strings.Contains(figures, "hit_x") {
		t.Errorf("figures: %.400s", figures)
	}
	if difference := b.report(reports[1]); !strings.Contains(difference, `samples equal\n60\n`) || !strings.Contains(difference, `removed\n40\n`) {
		t.Errorf("difference: %.400s", difference)
	}
}

// report is the text of a page that the page shows in a frame.
func (b *browser) report(address string) string {
	b.t.Helper()
	b.open(address, 1280, false)
	b.until(`document.readyState === "complete" && document.querySelector("h1") !== null`)
	b.healthy(address)
	return b.eval(`document.body.innerText`)
}

// TestABrowserShowsPictures of images, before and after they are converted.
func TestABrowserShowsPictures(t *testing.T) {
	b := newBrowser(t)
	dir := photos(t, 3)
	for _, input := range []string{dir, convert(t, pipeline.Settings{Inputs: []string{dir}})} {
		b.tab()
		b.open(shownAt(t, input), 1280, false)
		b.until(`[...document.querySelectorAll(".sample img")].length >= 6 && [...document.querySelectorAll(".sample img")].slice(0, 4).every(i => i.complete && i.naturalWidth === 48 && i.naturalHeight === 32)`)
		b.eval(`open(state.at, 1)`)
		b.until(`document.querySelector("#onebody img") !== null`)
		b.set("augment", map[string]string{"ops": "resize=20x20"})
		b.until(`(i => i.length === 2 && i[0].naturalWidth === 48 && i[1].naturalWidth === 20)([...document.querySelectorAll("#onebody img")])`)
		b.healthy(input)
	}
}

// TestSamplesAreComparedByName: where they have names, whatever their numbers.
func TestSamplesAreComparedByName(t *testing.T) {
	b := newBrowser(t)
	dir := photos(t, 4)
	all := convert(t, pipeline.Settings{Inputs: []string{filepath.Join(dir, "train")}})
	some := convert(t, pipeline.Settings{Inputs: []string{filepath.Join(dir, "train")}, Where: []string{`key() != "cat/cat1"`}})
	b.open(shownAt(t, all, some), 1280, false)
	b.until(`document.querySelectorAll(".sample").length === 15`)
	for n, want := range map[int][2]string{6: {"dog/dog2", "dog/dog2"}, 1: {"cat/cat1", "no sample of this name"}} {
		b.eval(fmt.Sprintf(`open("0", %d)`, n))
		b.until(`(t => t.length === 2 && t[0].includes("` + want[0] + `") && t[1].includes("` + want[1] + `"))([...document.querySelectorAll("#onebody > div")].map(d => d.textContent))`)
	}
	b.healthy("by name")
}

// TestOtherPagesReachNothing: a page of another origin, a second browser, and a name that leads here.
func TestOtherPagesReachNothing(t *testing.T) {
	b := newBrowser(t)
	address := shownAt(t, rows(t, "a.jsonl", 3))
	base := address[:strings.Index(address, "?")]
	b.open(address, 1280, false)
	b.until(`document.querySelectorAll(".sample").length === 3`)
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><iframe id=f src=%q></iframe><form id=post method=post action=%q></form>`, base, base)
	}))
	defer evil.Close()
	b.open(evil.URL, 1280, false)
	b.until(`document.readyState === "complete" && document.getElementById("f") !== null`)
	for what, script := range map[string]string{
		"fetch":   `fetch("` + base + `api/facts", {credentials: "include"}).then(r => r.text(), e => "refused")`,
		"no-cors": `fetch("` + base + `api/facts", {credentials: "include", mode: "no-cors"}).then(r => r.text() , e => "refused")`,
		"image":   `new Promise(done => { const i = new Image(); i.onload = () => done("loaded"); i.onerror = () => done("refused"); i.src = "` + base + `file?n=0&field=n"; })`,
		"script":  `new Promise(done => { const i = document.createElement("script"); i.onload = () => done("loaded"); i.onerror = () => done("refused"); i.src = "` + base + `page.js"; document.head.append(i); })`,
	} {
		if got := b.eval(script); got != `"refused"` && got != `""` {
			t.Errorf("%s from another origin: %s", what, got)
		}
	}
	b.eval(`document.getElementById("post").submit()`)
	b.until(`location.href.startsWith("` + base + `") && document.body !== null && document.body.innerText.includes("answers no other page")`)
	b.tab() // has no cookies
	b.open(base, 1280, false)
	b.until(`document.body !== null && document.body.innerText.includes("it ends with a token")`)
	b.log = nil
}

// TestABrowserShowsDamage: where the samples of a shard would be.
func TestABrowserShowsDamage(t *testing.T) {
	b := newBrowser(t)
	dir := convert(t, pipeline.Settings{Inputs: []string{rows(t, "a.jsonl", 20)}, ShardSamples: 10})
	truncate(t, dir, "shard-000001.*")
	b.open(shownAt(t, dir), 1280, false)
	b.until(`document.querySelectorAll(".sample").length === 20`)
	if got := b.eval(`[...document.querySelectorAll(".sample")].map(c => c.querySelector(".bad") ? c.querySelector(".bad").textContent.includes("shard-000001") : 0).join("")`); got != `"0000000000truetruetruetruetruetruetruetruetruetrue"` {
		t.Error(got)
	}
	b.healthy("damage")
}

func joined(lo, hi int) string {
	var list []string
	for i := range hi - lo {
		list = append(list, fmt.Sprint(lo+i))
	}
	return strings.Join(list, ",")
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}
