package view

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// browser is headless Chromium, spoken to by its DevTools protocol through pipes.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	session string
	last    int
	log     []string // errors of pages, and what they say on the console
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	name := ""
	for _, b := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(b); err == nil {
			name = p
			break
		}
	}
	if name == "" {
		t.Skip("no chromium here")
	}
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := os.MkdirTemp("", "view")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-background-networking",
		"--force-color-profile=srgb", "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, theirOut}
	if err := cmd.Start(); err != nil {
		t.Skipf("chromium does not run here: %v", err)
	}
	theirs.Close()
	theirOut.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		in.Close()
		out.Close()
		_ = os.RemoveAll(profile) // its processes may still write there
	})
	_ = out.SetReadDeadline(time.Now().Add(9 * time.Minute))
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	b.tab()
	return b
}

// tab opens a tab without the cookies of others.
func (b *browser) tab() {
	b.t.Helper()
	b.session = ""
	var c struct{ BrowserContextID string }
	b.call("Target.createBrowserContext", map[string]any{}, &c)
	var g struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": c.BrowserContextID}, &g)
	var a struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": g.TargetID, "flatten": true}, &a)
	b.session = a.SessionID
	for _, d := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(d+".enable", map[string]any{}, nil)
	}
}

func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.last++
	id := b.last
	text, _ := json.Marshal(map[string]any{"id": id, "method": method, "params": params, "sessionId": b.session})
	if b.session == "" {
		text, _ = json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		line, err := b.out.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: chromium does not answer: %v", method, err)
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line[:len(line)-1], &m); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case m.Method == "Runtime.exceptionThrown" || m.Method == "Runtime.consoleAPICalled" || m.Method == "Log.entryAdded" || m.Method == "Page.javascriptDialogOpening":
			b.log = append(b.log, m.Method+" "+string(m.Params))
		case m.ID != id:
		case m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		default:
			if result != nil {
				if err := json.Unmarshal(m.Result, result); err != nil {
					b.t.Fatal(err)
				}
			}
			return
		}
	}
}

// eval is the value of an expression of JavaScript on the page, which may be a promise, as JSON.
func (b *browser) eval(script string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", script, r.ExceptionDetails)
	}
	return string(r.Result.Value)
}

// until waits for an expression to be true.
func (b *browser) until(script string) {
	b.t.Helper()
	for end := time.Now().Add(5 * time.Minute); b.eval(script) != "true"; time.Sleep(30 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("never true: %s\nstatus: %s\nlog: %q", script, b.eval(`document.body.innerText.slice(0, 1500)`), b.log)
		}
	}
}

func (b *browser) open(address string, width int, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Page.navigate", map[string]any{"url": address}, nil)
}

func (b *browser) key(key string) {
	b.t.Helper()
	text := key
	if len(key) > 1 {
		text = ""
	}
	code := map[string]int{"Enter": 13, "Escape": 27}[key]
	if key == "Enter" {
		text = "\r"
	}
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code}, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}, nil)
}

// shot keeps a picture of the page in the folder that SHARDIFY_SHOTS names, to be looked at.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("SHARDIFY_SHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.png", name)), data, 0o666)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
