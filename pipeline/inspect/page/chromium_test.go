package page

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browser runs headless Chromium on a page and returns its document and its log.
func browser(t *testing.T, profile, name string, args ...string) (dom, log string) {
	t.Helper()
	var path string
	for _, b := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(b); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium here")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	args = append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking", "--user-data-dir=" + profile, "--enable-logging=stderr", "--v=0"}, args...)
	cmd := exec.CommandContext(ctx, path, append(args, "--dump-dom", "file://"+name)...)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		t.Skipf("chromium does not run here: %v\n%s", err, msg.String())
	}
	return out.String(), msg.String()
}

// measure is added to the page for the test: it compares every text with the drawing that contains
// it, as the browser has laid it out, and the page with its window.
const measure = `<script>
const bad = [];
for (const s of document.querySelectorAll("svg")) {
  const v = s.viewBox.baseVal;
  for (const t of s.querySelectorAll("text")) {
    const b = t.getBBox();
    if (b.x < -1 || b.x + b.width > v.width + 1 || b.y < -1 || b.y + b.height > v.height + 1) bad.push("cut: " + t.textContent);
  }
}
if (document.documentElement.scrollWidth > innerWidth) bad.push("the page is wider than its window: " + document.documentElement.scrollWidth);
const e = document.createElement("pre"); e.id = "verdict"; e.textContent = JSON.stringify({bad, charts: document.querySelectorAll("svg").length, back: getComputedStyle(document.body).backgroundColor}); document.body.append(e);
</script>`

var verdicts = regexp.MustCompile(`<pre id="verdict">(.*?)</pre>`)

// TestChromiumShowsThePage: no error in its log, no text cut off, no wider than a
// narrow window, dark where the system is.
func TestChromiumShowsThePage(t *testing.T) {
	text := render(t, everything())
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	profile := t.TempDir()
	_, log := browser(t, profile, name)
	for line := range strings.Lines(log) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the browser says: %s", line)
		}
	}
	// The measuring copy may run a script.
	text = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy".*\n`).ReplaceAllString(text, "")
	if err := os.WriteFile(name, []byte(strings.Replace(text, "</body>", measure+"</body>", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	dom, _ := browser(t, profile, name, "--window-size=500,900", "--blink-settings=preferredColorScheme=0")
	m := verdicts.FindStringSubmatch(dom)
	if m == nil {
		t.Fatal("the page was not measured")
	}
	var v struct {
		Bad    []string
		Charts int
		Back   string
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(m[1])), &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Bad) > 0 || v.Charts < 6 || v.Back != "rgb(20, 23, 28)" {
		t.Errorf("%d charts on %s; %q", v.Charts, v.Back, v.Bad)
	}
}

// use types into the search of a long table and sorts it, as a reader does.
const use = `<script>
const input = document.querySelector("input[type=search]"), seen = () => [...document.querySelectorAll("tbody tr")].filter(r => !r.hidden).map(r => r.cells[0].textContent).join(" ");
const got = [];
input.value = "b 1"; input.dispatchEvent(new Event("input")); got.push(seen(), document.querySelector("[role=status]").textContent);
input.value = ""; input.dispatchEvent(new Event("input"));
const head = document.querySelectorAll("thead button")[1];
head.click(); got.push(seen(), head.parentNode.getAttribute("aria-sort"));
head.click(); got.push(seen(), head.parentNode.getAttribute("aria-sort"));
const e = document.createElement("pre"); e.id = "verdict"; e.textContent = JSON.stringify(got); document.body.append(e);
</script>`

// TestLongTablesAreSearchedAndSorted: by the one script that the page may run.
func TestLongTablesAreSearchedAndSorted(t *testing.T) {
	table := &Table{Head: []string{"name", "value"}, Right: []bool{false, true}}
	for i, v := range []string{"1,000", "-2", "3e-5", "", "20", "-", "x", "1.5e4", "7", "8", "9", "10"} {
		table.Rows = append(table.Rows, []string{string(rune('a' + i)), v})
	}
	table.Rows[1] = append(table.Rows[1], "1")
	text := render(t, &Page{Sections: []Section{{Parts: []Part{table}}}})
	name, profile := filepath.Join(t.TempDir(), "page.html"), t.TempDir()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	dom, log := browser(t, profile, name)
	if !strings.Contains(dom, `class="search"`) || strings.Contains(log, "CONSOLE") {
		t.Errorf("the script did not run: %s", log)
	}
	text = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy".*\n`).ReplaceAllString(text, "")
	if err := os.WriteFile(name, []byte(strings.Replace(text, "</body>", use+"</body>", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	dom, _ = browser(t, profile, name)
	m := verdicts.FindStringSubmatch(dom)
	if m == nil {
		t.Fatal("the table was not used")
	}
	want := `["b","1 of 12","b c i j k l e a h g d f","ascending","g h a e l k j i c b d f","descending"]`
	if got := html.UnescapeString(m[1]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
