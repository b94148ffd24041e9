package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/pipeline"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/writers/writertest"
)

// hostile is a value that would be a program if it became markup.
const hostile = `</script><img src=x onerror="window.hit=1"><script>window.hit=1</script>`

// rows writes n samples as JSON lines: a number, a class, a text, lists of one length, an array.
func rows(t *testing.T, name string, n int) string {
	t.Helper()
	var out bytes.Buffer
	for i := range n {
		hits := make([]float64, i%5)
		for k := range hits {
			hits[k] = float64(i*k%7) - 3
		}
		h, _ := json.Marshal(hits)
		text, _ := json.Marshal(fmt.Sprintf("row %d %s", i, hostile))
		fmt.Fprintf(&out, `{"n":%d,"big":%d,"value":%v,"cls":%q,"note":%s,"hit_x":%s,"hit_y":%s}`+"\n", i, int64(1)<<60+int64(i*7%n), math.Sin(float64(i)), []string{"cat", "dog", hostile}[i%3], text, h, h)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// photos writes n JPEG files into each of two classes in a folder for each split.
func photos(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for s, split := range []string{"train", "val"} {
		for c, class := range []string{"cat", "dog"} {
			for i := range n {
				im := image.NewRGBA(image.Rect(0, 0, 48, 32))
				for k := range im.Pix {
					im.Pix[k] = byte(40*s + 90*c + 10*i + k%4*30)
				}
				var b bytes.Buffer
				if err := jpeg.Encode(&b, im, nil); err != nil {
					t.Fatal(err)
				}
				name := filepath.Join(dir, split, class, fmt.Sprintf("%s%d.jpg", class, i))
				if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, b.Bytes(), 0o666)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return dir
}

// convert makes a set and returns its folder.
func convert(t *testing.T, s pipeline.Settings) string {
	t.Helper()
	if s.Output == "" {
		s.Output = filepath.Join(t.TempDir(), "set")
	}
	if _, err := pipeline.Convert(t.Context(), s); err != nil {
		t.Fatal(err, shardify.Hints(err))
	}
	return s.Output
}

func request(t *testing.T, path string) pipeline.Inspection {
	t.Helper()
	r, err := pipeline.InspectRequest(t.Context(), pipeline.Settings{}, []string{path}, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// serving is a server of inputs, without the network.
func serving(t *testing.T, inputs ...string) *server {
	t.Helper()
	s := &server{pool: shardify.NewPool(poolBytes), busy: make(chan struct{}, together)}
	for _, name := range inputs {
		one, err := openSide(t.Context(), request(t, name))
		if err != nil {
			t.Fatal(err)
		}
		s.now = append(s.now, one)
	}
	t.Cleanup(s.close)
	return s
}

// get answers a request behind the guard.
func get(t *testing.T, s *server, path string, query url.Values, to any) int {
	t.Helper()
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path+"?"+query.Encode(), nil))
	if b, ok := to.(*[]byte); ok {
		*b = w.Body.Bytes()
	} else if to != nil && w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), to); err != nil {
			t.Fatalf("%s: %v in %.200s", path, err, w.Body)
		}
	}
	return w.Code
}

func TestOnlyTheBrowserWithTheTokenIsLetIn(t *testing.T) {
	g := newGuard("7000", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") }))
	other := newGuard("7000", nil)
	if g.token == other.token || len(g.token) != 48 {
		t.Fatalf("tokens %q and %q", g.token, other.token)
	}
	host, cookie := "127.0.0.1:7000", g.cookie+"="+g.token
	for _, c := range []struct {
		what, method, path, host, cookie string
		header                           [][2]string
		code                             int
	}{
		{"the address that was printed", "GET", "/?token=" + g.token, host, "", nil, 200},
		{"by the name of this machine", "GET", "/?token=" + g.token, "localhost:7000", "", nil, 200},
		{"without the token", "GET", "/", host, "", nil, 403},
		{"with another token", "GET", "/?token=" + other.token, host, "", nil, 403},
		{"with a part of the token", "GET", "/?token=" + g.token[:47], host, "", nil, 403},
		{"the token opens the page alone", "GET", "/api/facts?token=" + g.token, host, "", nil, 403},
		{"the page itself", "GET", "/api/facts", host, cookie, [][2]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://127.0.0.1:7000"}}, 200},
		{"from the address line", "GET", "/", host, cookie, [][2]string{{"Sec-Fetch-Site", "none"}}, 200},
		{"a cookie of another run", "GET", "/api/facts", host, g.cookie + "=" + other.token, nil, 403},
		{"a name that leads here", "GET", "/api/facts", "evil.example:7000", cookie, nil, 403},
		{"the host without its port", "GET", "/api/facts", "127.0.0.1", cookie, nil, 403},
		{"a name that leads here, with the token", "GET", "/?token=" + g.token, "evil.example:7000", "", nil, 403},
		{"another site asks", "GET", "/api/facts", host, cookie, [][2]string{{"Origin", "http://evil.example"}}, 403},
		{"a page without an origin asks", "GET", "/api/facts", host, cookie, [][2]string{{"Origin", "null"}}, 403},
		{"another port of this machine asks", "GET", "/api/facts", host, cookie, [][2]string{{"Origin", "http://127.0.0.1:7001"}}, 403},
		{"another port shows an image", "GET", "/file", host, cookie, [][2]string{{"Sec-Fetch-Site", "same-site"}}, 403},
		{"another site shows an image", "GET", "/file", host, cookie, [][2]string{{"Sec-Fetch-Site", "cross-site"}}, 403},
		{"a link to the page", "GET", "/?token=" + g.token, host, "", [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}}, 200},
		{"the page in a frame of another site", "GET", "/?token=" + g.token, host, "", [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "iframe"}}, 403},
		{"a link into the page", "GET", "/report", host, cookie, [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}}, 403},
		{"a form of another site", "POST", "/", host, cookie, [][2]string{{"Origin", "http://evil.example"}}, 403},
		{"a form", "POST", "/", host, cookie, nil, 405},
		{"a change", "PUT", "/api/facts", host, cookie, nil, 405},
		{"a removal", "DELETE", "/api/facts", host, cookie, nil, 405},
		{"a question about what is allowed", "OPTIONS", "/api/facts", host, cookie, nil, 405},
		{"the head", "HEAD", "/", host, cookie, nil, 200},
	} {
		r := httptest.NewRequest(c.method, "http://"+c.host+c.path, nil)
		if c.cookie != "" {
			r.Header.Set("Cookie", c.cookie)
		}
		for _, h := range c.header {
			r.Header.Set(h[0], h[1])
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		h := w.Result().Header
		if w.Code != c.code || (w.Body.String() == "secret") != (c.code == 200) {
			t.Errorf("%s: %d, want %d: %.100s", c.what, w.Code, c.code, w.Body)
		}
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'") || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", c.what, h)
		}
		for name := range h {
			if strings.HasPrefix(name, "Access-Control") {
				t.Errorf("%s: %s lets other pages read", c.what, name)
			}
		}
		if set := h.Get("Set-Cookie"); (set != "") != (c.code == 200 && strings.Contains(c.path, "token=")) || set != "" && (!strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict")) {
			t.Errorf("%s: cookie %q", c.what, set)
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, []pipeline.Inspection{request(t, rows(t, "a.jsonl", 5))}, 0, func(a string) { ready <- a })
	}()
	var address string
	select {
	case address = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	u, _ := url.Parse(address)
	if host, _, _ := net.SplitHostPort(u.Host); host != "127.0.0.1" {
		t.Errorf("the page is at %s", u.Host)
	}
	r, err := http.Get(address)
	if err != nil || r.StatusCode != 200 {
		t.Fatal(r, err)
	}
	r.Body.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if c, err := net.Dial("tcp", u.Host); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
}

func TestSamplesHaveTheirPieces(t *testing.T) {
	for _, s := range []*server{serving(t, rows(t, "a.jsonl", 40)), serving(t, convert(t, pipeline.Settings{Inputs: []string{rows(t, "a.jsonl", 40)}, Encode: []string{"cls"}})),
		serving(t, convert(t, pipeline.Settings{Inputs: []string{rows(t, "a.jsonl", 40)}, Format: "wds", ShardSamples: 7}))} {
		var page samples
		if code := get(t, s, "/api/samples", url.Values{"from": {"4"}, "count": {"3"}}, &page); code != 200 || page.Total != 40 || len(page.Samples) != 3 || page.Samples[2].Sample != 6 {
			t.Fatalf("%d: %+v", code, page)
		}
		kinds := map[string]string{}
		for _, p := range page.Samples[0].Pieces {
			kinds[p.Field] = p.Kind + " " + p.Text
			if p.Kind == "table" && (!slices.Equal(p.Names, []string{"x", "y"}) || p.Of != 4 || len(p.Points) != 2 || p.Rows[2][0] != "-2") {
				t.Errorf("%+v", p)
			}
		}
		for field, want := range map[string]string{"n": "number 4", "big": fmt.Sprintf("number %d", int64(1)<<60+28), "hit": "table ", "note": "text row 4 " + hostile} {
			if kinds[field] != want {
				t.Errorf("%s: %q, want %q", field, kinds[field], want)
			}
		}
		var last samples
		if get(t, s, "/api/samples", url.Values{"ids": {"39,0"}, "whole": {"1"}}, &last); len(last.Samples) != 2 || last.Samples[0].Sample != 39 || last.Samples[1].Sample != 0 {
			t.Errorf("%+v", last)
		}
		var text []byte
		if get(t, s, "/api/samples", nil, &text); bytes.Contains(text, []byte("<script")) {
			t.Error("markup in an answer")
		}
		for _, q := range []url.Values{{"from": {"40"}}, {"from": {"-1"}}, {"ids": {"40"}}, {"ids": {"x"}}, {"at": {"1"}}, {"at": {"0/val"}}, {"at": {"x"}}, {"count": {"x"}}, {"augment": {"nothing=n"}}} {
			if code := get(t, s, "/api/samples", q, nil); code != 400 {
				t.Errorf("%v: %d", q, code)
			}
		}
	}
}

func TestSearchFindsWhatThereIs(t *testing.T) {
	s := serving(t, convert(t, pipeline.Settings{Inputs: []string{rows(t, "a.jsonl", 500)}, ShardSamples: 90, Encode: []string{"cls"}}))
	for _, c := range []struct {
		where, text string
		want        func(i int) bool
	}{
		{"n % 7 == 3 && value > 0", "", func(i int) bool { return i%7 == 3 && math.Sin(float64(i)) > 0 }},
		{`cls == "dog"`, "", func(i int) bool { return i%3 == 1 }},
		{"len(hit_x) == 4", "", func(i int) bool { return i%5 == 4 }},
		{"", "ROW 12", func(i int) bool { return strings.HasPrefix(fmt.Sprintf("row %d ", i), "row 12") }},
		{"n > 125", "row 12", func(i int) bool { return i > 125 && i < 130 }},
		{"n < 0", "", func(int) bool { return false }},
	} {
		var got, want []int64
		for i := range 500 {
			if c.want(i) {
				want = append(want, int64(i))
			}
		}
		for from := int64(0); from < 500; { // as the page asks
			var f found
			if code := get(t, s, "/api/find", url.Values{"where": {c.where}, "text": {c.text}, "from": {fmt.Sprint(from)}, "count": {"5"}}, &f); code != 200 || f.Searched <= from || len(f.Hits) > 5 || f.Total != 500 || f.Lost != nil {
				t.Fatalf("%+v: %d, %+v", c, code, f)
			}
			got, from = append(got, f.Hits...), f.Searched
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q %q: %v, want %v", c.where, c.text, got, want)
		}
	}
	for _, where := range []string{"nothing > 1", "n >", "n", "hit_x > 1"} {
		if code := get(t, s, "/api/find", url.Values{"where": {where}}, nil); code != 400 {
			t.Errorf("%q: %d", where, code)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.now[0].parts[0].find(ctx, s.pool, "n > 1", "", 0, 5); err == nil {
		t.Error("a search goes on without its reader")
	}
}

func TestSortIsExact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte("i,x\n9007199254740993,0.5\n9007199254740992,nan\n-5,-1\n9007199254740994,-0.0\n7,0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := serving(t, path)
	for q, want := range map[string][]int64{"by=i": {2, 4, 1, 0, 3}, "by=i&falling=1": {3, 0, 1, 4, 2}, "by=x": {2, 3, 4, 0, 1}, "by=x&falling=1": {0, 3, 4, 2, 1}, "by=x&from=3&count=1": {0}, "by=x&from=9": {}} {
		v, _ := url.ParseQuery(q)
		var r ranking
		if code := get(t, s, "/api/sort", v, &r); code != 200 || !slices.Equal(r.IDs, want) || r.Sorted != 5 || r.Total != 5 {
			t.Errorf("%s: %d, %+v, want %v", q, code, r, want)
		}
	}
	if code := get(t, s, "/api/sort", url.Values{"by": {"y"}}, nil); code != 400 {
		t.Errorf("a field that is not there: %d", code)
	}
}

// TestDamageIsNamedAndTheRestWorks: in the middle of three shards.
func TestDamageIsNamedAndTheRestWorks(t *testing.T) {
	for _, form := range []string{"mmap", "wds"} {
		dir := convert(t, pipeline.Settings{Inputs: []string{rows(t, "a.jsonl", 30)}, Format: form, ShardSamples: 10})
		truncate(t, dir, "shard-000001.*")
		s := serving(t, dir)
		var page samples
		if code := get(t, s, "/api/samples", url.Values{"count": {"30"}}, &page); code != 200 || len(page.Samples) != 30 {
			t.Fatalf("%s: %d, %d samples", form, code, len(page.Samples))
		}
		for i, x := range page.Samples {
			damaged := i >= 10 && i < 20
			if x.Sample != int64(i) || (x.Error != "") != damaged || damaged != strings.Contains(x.Error, "shard-000001") || (len(x.Pieces) > 0) == damaged {
				t.Errorf("%s %d: %+v", form, i, x)
			}
		}
		var f found
		if code := get(t, s, "/api/find", url.Values{"where": {"n % 2 == 0"}}, &f); code != 200 || !slices.Equal(f.Hits, []int64{0, 2, 4, 6, 8, 20, 22, 24, 26, 28}) || len(f.Lost) == 0 || !strings.Contains(f.Lost[0], "shard-000001") {
			t.Errorf("%s: %d, %+v", form, code, f)
		}
		var r ranking
		if code := get(t, s, "/api/sort", url.Values{"by": {"n"}, "falling": {"1"}}, &r); code != 200 || len(r.IDs) != 20 || r.IDs[0] != 29 || len(r.Lost) == 0 {
			t.Errorf("%s: %d, %+v", form, code, r)
		}
		var text []byte
		if code := get(t, s, "/report", nil, &text); code != 200 || !bytes.Contains(text, []byte("20 of 30 samples")) || !bytes.Contains(text, []byte("Left out: ")) || !bytes.Contains(text, []byte("shard-000001")) {
			t.Errorf("%s: %d, %.600s", form, code, text)
		}
	}
}

// truncate cuts files of a set.
func truncate(t *testing.T, dir, pattern string) {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(dir, pattern))
	if len(list) == 0 {
		t.Fatalf("no %s", pattern)
	}
	for _, name := range list {
		if err := os.Truncate(name, 100); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnotherVersionIsOpened: the set is replaced while the page shows it.
func TestAnotherVersionIsOpened(t *testing.T) {
	dir := convert(t, pipeline.Settings{Inputs: []string{rows(t, "a.jsonl", 30)}, ShardSamples: 10})
	s := serving(t, dir)
	var before, after samples
	if get(t, s, "/api/samples", nil, &before); before.Total != 30 {
		t.Fatalf("%+v", before)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	var gone samples
	if get(t, s, "/api/samples", url.Values{"from": {"20"}}, &gone); len(gone.Samples) != 10 || gone.Samples[0].Error == "" || gone.Digest != before.Digest {
		t.Errorf("%+v", gone)
	}
	convert(t, pipeline.Settings{Inputs: []string{rows(t, "b.jsonl", 21)}, Output: dir, ShardSamples: 10})
	if get(t, s, "/api/samples", url.Values{"from": {"20"}}, &after); len(after.Samples) != 1 || after.Samples[0].Error != "" || after.Digest == before.Digest || after.Total != 21 {
		t.Errorf("%+v", after)
	}
}

func TestLargeSamplesAreNotRead(t *testing.T) {
	for schema, most := range map[string]int{"x:u8[600000000]": 0, "x:u8[30000000]": 3} {
		settings := pipeline.Settings{From: "synth", Options: map[string]string{"samples": "5", "schema": schema}}
		r, err := pipeline.InspectRequest(t.Context(), settings, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		one, err := openSide(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		s := &server{pool: shardify.NewPool(poolBytes), busy: make(chan struct{}, together), now: []*side{one}}
		var page samples
		code := get(t, s, "/api/samples", nil, &page)
		shown := 0
		for _, x := range page.Samples {
			if x.Error == "" {
				shown++
			} else if !strings.Contains(x.Error, "more than the page reads") {
				t.Error(x.Error)
			}
		}
		if code != 200 || shown != most && !(most > 0 && shown > 0 && page.Note != "") {
			t.Errorf("%s: %d, %d samples, %q", schema, code, shown, page.Note)
		}
		s.close()
	}
}

func TestAugmentationIsShown(t *testing.T) {
	s := serving(t, convert(t, pipeline.Settings{From: "synth", Options: map[string]string{"samples": "6", "schema": "x:f32[40]"}}))
	texts := func(augment, seed string) (out []string) {
		var page samples
		if code := get(t, s, "/api/samples", url.Values{"ids": {"2"}, "augment": {augment}, "seed": {seed}}, &page); code != 200 || len(page.Samples) != 1 || page.Samples[0].Error != "" {
			t.Fatalf("%s: %d, %+v", augment, code, page)
		}
		for _, p := range page.Samples[0].Pieces {
			if p.Field == "x" {
				out = append(out, fmt.Sprint(p.Lines))
			}
		}
		return out
	}
	plain, one, again, two := texts("", ""), texts("noise=x,sigma=0.5", "1"), texts("noise=x,sigma=0.5\n", "1"), texts("noise=x,sigma=0.5", "2")
	if slices.Equal(plain, one) || !slices.Equal(one, again) || slices.Equal(one, two) || !slices.Equal(plain, texts("", "5")) {
		t.Errorf("%.80s\n%.80s\n%.80s\n%.80s", plain, one, again, two)
	}
	var before, after []byte
	s = serving(t, convert(t, pipeline.Settings{Inputs: []string{photos(t, 2)}}))
	if get(t, s, "/file", url.Values{"at": {"0/val"}, "n": {"2"}, "field": {"jpg"}}, &before); !bytes.HasPrefix(before, []byte("\xff\xd8")) {
		t.Errorf("%.20q", before)
	}
	code := get(t, s, "/file", url.Values{"at": {"0/val"}, "n": {"2"}, "field": {"jpg"}, "augment": {"resize=16x16"}}, &after)
	if im, err := png.Decode(bytes.NewReader(after)); code != 200 || err != nil || im.Bounds().Dx() != 16 {
		t.Errorf("%d, %v, %.200q", code, err, after)
	}
}

// TestTheOrderIsThatOfALoader: of what a Loader delivers on each rank.
func TestTheOrderIsThatOfALoader(t *testing.T) {
	dir := convert(t, pipeline.Settings{From: "synth", Options: map[string]string{"samples": "500", "schema": "x:f32[4]"}})
	s := serving(t, dir)
	for _, shuffle := range []gpuload.Shuffle{gpuload.None, gpuload.Block, gpuload.Global} {
		for _, world := range []int{1, 3} {
			var e epoch
			if code := get(t, s, "/api/order", url.Values{"shuffle": {string(shuffle)}, "seed": {"7"}, "epoch": {"2"}, "batch": {"16"}, "world": {fmt.Sprint(world)}, "count": {"500"}}, &e); code != 200 || e.Length != 500 || len(e.Places) != 500 {
				t.Fatalf("%s: %d, %+v", shuffle, code, e)
			}
			for rank := range world {
				d, err := gpuload.Open(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				l, err := d.Loader(gpuload.Config{Shuffle: shuffle, Seed: 7, Epoch: 2, Batch: 16, World: world, Rank: rank, Device: "host"})
				if err != nil {
					t.Fatal(err)
				}
				var got, want []int64
				for range e.Steps {
					b, err := l.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, b.IDs()...)
					b.Release()
				}
				l.Close()
				for _, p := range e.Places {
					if p.Rank == int64(rank) && p.Step < int64(e.Steps) {
						want = append(want, p.Sample)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s, rank %d of %d: the Loader has %v, the page %v", shuffle, rank, world, got, want)
				}
			}
		}
	}
	if code := get(t, serving(t, rows(t, "a.jsonl", 4)), "/api/order", nil, nil); code != 400 {
		t.Errorf("the order of inputs: %d", code)
	}
}

// TestPicturesOfArrays: which axes are shown, and which way up.
func TestPicturesOfArrays(t *testing.T) {
	coords := map[string]format.Coord{
		"lat": {DType: format.CoordF32, Floats: []float64{-10, -5, 0, 5, 10, 15, 20, 25, 30, 35}, Attrs: map[string]string{"unit": "degrees_north"}},
		"lon": {DType: format.CoordF32, Floats: []float64{0, 1, 2, 3, 4, 5, 6, 7}}}
	for _, c := range []struct {
		what  string
		shape []int
		dims  string
		dtype shardify.DType
		depth []int
		at    []int
		value func(y, x int) int // the place in the array of a pixel
		w, h  int
	}{
		{"grey", []int{10, 8}, "", shardify.F32, nil, nil, func(y, x int) int { return y*8 + x }, 8, 10},
		{"a volume", []int{5, 10, 8}, "", shardify.F32, []int{5}, []int{3}, func(y, x int) int { return 240 + y*8 + x }, 8, 10},
		{"north is up", []int{10, 8}, "lat\nlon", shardify.F32, nil, nil, func(y, x int) int { return (9-y)*8 + x }, 8, 10},
		{"longitude first", []int{8, 10}, "lon\nlat", shardify.F32, nil, nil, func(y, x int) int { return x*10 + 9 - y }, 8, 10},
		{"a level of a map", []int{2, 1, 10, 8}, "level\none\nlat\nlon", shardify.F32, []int{2}, []int{1}, func(y, x int) int { return 80 + (9-y)*8 + x }, 8, 10},
		{"colours last", []int{10, 8, 3}, "", shardify.U8, nil, nil, func(y, x int) int { return (y*8 + x) * 3 }, 8, 10},
		{"colours first", []int{3, 10, 8}, "", shardify.U8, nil, nil, func(y, x int) int { return y*8 + x }, 8, 10},
	} {
		f := shardify.Field{Name: "a", DType: c.dtype, Shape: c.shape}
		if c.dims != "" {
			f.NameDims(strings.Split(c.dims, "\n"))
		}
		fr := frameOf(&f, c.shape, coords)
		if fr == nil || !slices.Equal(fr.depths(), c.depth) && len(c.depth) > 0 {
			t.Errorf("%s: %+v", c.what, fr)
			continue
		}
		n := 1
		for _, d := range c.shape {
			n *= d
		}
		data := make([]float32, n)
		raw := make([]byte, n)
		for i := range n {
			data[i], raw[i] = float32(i), byte(i)
		}
		v := &values{t: c.dtype, data: raw}
		if c.dtype == shardify.F32 {
			v.data = shardify.Bytes(data)
		}
		b, err := draw(v, fr, c.at)
		if err != nil {
			t.Fatal(err)
		}
		im, err := png.Decode(bytes.NewReader(b))
		if err != nil || im.Bounds().Dx() != c.w || im.Bounds().Dy() != c.h {
			t.Fatalf("%s: %v, %v", c.what, im.Bounds(), err)
		}
		lo, hi := v.span()
		for y := range c.h {
			for x := range c.w {
				r, g, _, a := im.At(x, y).RGBA()
				i := c.value(y, x)
				want := byte(i)
				switch {
				case fr.grid != nil:
					k := heat(share(float64(i), lo, hi))
					if want = k.R; byte(g>>8) != k.G {
						t.Fatalf("%s: green at %d, %d", c.what, y, x)
					}
				case c.dtype == shardify.F32:
					want = byte(255*share(float64(i), lo, hi) + 0.5)
				}
				if byte(r>>8) != want || a != 0xffff {
					t.Fatalf("%s: %d at %d, %d, want %d", c.what, r>>8, y, x, want)
				}
			}
		}
	}
	if frameOf(&shardify.Field{Name: "a", DType: shardify.F32}, []int{100, 3}, nil) != nil || frameOf(&shardify.Field{Name: "a", DType: shardify.F32}, []int{100}, nil) != nil {
		t.Error("a table of three columns is a picture")
	}
}

func FuzzRequests(f *testing.F) {
	f.Add("samples", "at=0&from=1&count=3&augment=noise%3Dx&seed=-1")
	f.Add("find", "where=n%3E1&text=a&from=99999999999999")
	f.Add("sort", "by=n&falling=1&from=-5&count=999")
	f.Add("order", "shuffle=block&batch=9&world=7&epoch=-1&from=-9")
	f.Add("file", "field=note&slice=1,,x&n=0")
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("n,note\n1,a\n2,b\n"), 0o666); err != nil {
		f.Fatal(err)
	}
	out := filepath.Join(dir, "set")
	if _, err := pipeline.Convert(context.Background(), pipeline.Settings{Inputs: []string{filepath.Join(dir, "a.csv")}, Output: out}); err != nil {
		f.Fatal(err)
	}
	var s *server
	f.Fuzz(func(t *testing.T, path, query string) {
		if s == nil {
			one, err := openSide(context.Background(), request(t, out))
			if err != nil {
				t.Fatal(err)
			}
			s = &server{pool: shardify.NewPool(poolBytes), busy: make(chan struct{}, together), now: []*side{one}}
		}
		r := &http.Request{Method: "GET", URL: &url.URL{Path: "/api/" + path, RawQuery: query}}
		if path == "file" || path == "report" {
			r.URL.Path = "/" + path
		}
		w := httptest.NewRecorder()
		s.handler().ServeHTTP(w, r.WithContext(t.Context()))
		if !slices.Contains([]int{200, 301, 307, 400, 404, 500}, w.Code) || w.Code == 500 && !strings.Contains(w.Body.String(), "error") {
			t.Errorf("%s?%s: %d %.200s", path, query, w.Code, w.Body)
		}
	})
}

// TestAHundredMillionSamplesAreNotScanned: of the set there is the manifest alone, and yet the page knows how many samples
// there are and which shard has the last one.
func TestAHundredMillionSamplesAreNotScanned(t *testing.T) {
	const shards, each = 1000, 100_000
	dir := t.TempDir()
	m := &index.Manifest{Format: index.FormatMmap, Schema: []shardify.Field{{Name: "x", DType: shardify.F32}}, Samples: shards * each}
	for i := range shards {
		m.Shards = append(m.Shards, shardify.Shard{Name: fmt.Sprintf("shard-%06d.safetensors", i), Samples: each, Bytes: 4*each + 1<<16, Digest: index.DigestOf(nil)})
		m.Bytes += m.Shards[i].Bytes
	}
	writertest.WriteManifest(t, dir, m)
	s := serving(t, dir)
	var page samples
	if code := get(t, s, "/api/samples", url.Values{"from": {"99999999"}}, &page); code != 200 || page.Total != 1e8 || len(page.Samples) != 1 || page.Samples[0].Sample != 99_999_999 || !strings.Contains(page.Samples[0].Error, "shard-000999.safetensors") {
		t.Errorf("%d: %+v", code, page)
	}
	if p := s.now[0].parts[0]; len(p.spans) != shards || len(p.narrow) != 0 {
		t.Errorf("%d spans, %d sources", len(p.spans), len(p.narrow))
	}
}
