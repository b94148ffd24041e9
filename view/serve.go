package view

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
)

//go:embed page.html page.js page.css
var files embed.FS

// Bounds of answers, and of requests that read at the same time.
const (
	mostAnswer = 16 << 20 // of JSON
	mostFile   = 64 << 20 // of an image or a recording
	mostRows   = 200      // samples of a page
	mostNames  = 200      // of classes
	mostHits   = 500
	together   = 4
	endTime    = 2 * time.Second
)

// server answers for one or two sides.
type server struct {
	pool *shardify.Pool
	busy chan struct{}
	mu   sync.Mutex
	now  []*side
	old  []*side // replaced by what is on disk now; requests may still read them
}

// Serve shows inputs, one or two to compare, at an address of this machine until ctx ends. Port 0 takes a free
// one. It calls ready with the address, whose token lets a browser in, and returns nil when ctx has ended.
func Serve(ctx context.Context, inputs []inspect.Request, port int, ready func(address string)) error {
	s := &server{pool: shardify.NewPool(poolBytes), busy: make(chan struct{}, together)}
	defer s.close()
	for _, r := range inputs {
		one, err := openSide(ctx, r)
		if err != nil {
			return err
		}
		s.now = append(s.now, one)
	}
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	g := newGuard(strconv.Itoa(l.Addr().(*net.TCPAddr).Port), s.handler())
	h := &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	ready("http://" + g.hosts[0] + "/?token=" + g.token)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	if h.Shutdown(last) != nil {
		_ = h.Close() // what still reads has lost its context
	}
	<-ended
	return nil
}

func (s *server) close() {
	for _, x := range append(s.now, s.old...) {
		x.close()
	}
}

func (s *server) handler() http.Handler {
	m := http.NewServeMux()
	for name, kind := range map[string]string{"page.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"} {
		path := "/" + name
		if name == "page.html" {
			path = "/{$}"
		}
		m.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			b, _ := fs.ReadFile(files, name)
			w.Header().Set("Content-Type", kind+"; charset=utf-8")
			_, _ = w.Write(b)
		})
	}
	for path, answer := range map[string]func(*http.Request, *query) (any, error){"facts": s.facts, "samples": s.samples, "find": s.find, "sort": s.sort, "order": s.order} {
		m.HandleFunc("/api/"+path, func(w http.ResponseWriter, r *http.Request) { s.json(w, r, answer) })
	}
	m.HandleFunc("/file", s.file)
	m.HandleFunc("/report", s.report)
	return m
}

// json writes an answer, or an error.
func (s *server) json(w http.ResponseWriter, r *http.Request, answer func(*http.Request, *query) (any, error)) {
	if !s.begin(r) {
		return
	}
	defer s.end()
	w.Header().Set("Content-Type", "application/json")
	out, err := answer(r, &query{Values: r.URL.Query(), s: s})
	var b []byte
	if err == nil {
		b, err = json.Marshal(out)
	}
	if err == nil && len(b) > mostAnswer {
		err = shardify.Unsupported("the answer takes %s, more than a page should have: show fewer samples", shardify.FormatSize(int64(len(b))))
	}
	if err != nil {
		code := http.StatusInternalServerError
		if errors.Is(err, shardify.ErrUsage) {
			code = http.StatusBadRequest
		}
		b, _ = json.Marshal(map[string]any{"error": shardify.Plain(err), "hints": shardify.Hints(err)})
		w.WriteHeader(code)
	}
	_, _ = w.Write(b)
}

// begin waits until few others read; it reports false when the browser has gone.
func (s *server) begin(r *http.Request) bool {
	select {
	case s.busy <- struct{}{}:
		return true
	case <-r.Context().Done():
		return false
	}
}

func (s *server) end() { <-s.busy }

// side is one of the sides, as it is now.
func (s *server) side(i int64) *side {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= int64(len(s.now)) {
		return nil
	}
	return s.now[i]
}

// renew opens a set again that is another one than before, and reports whether it is.
func (s *server) renew(ctx context.Context, old *side) bool {
	if old.digest == "" {
		return false
	}
	_, m, err := pipeline.ManifestOf(old.name)
	if err != nil || m.Digest == old.digest {
		return false
	}
	fresh, err := openSide(context.WithoutCancel(ctx), old.request)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.now {
		if s.now[i] == old {
			s.old, s.now[i] = append(s.old, old), fresh
			return true
		}
	}
	s.old = append(s.old, fresh) // another request was faster
	return true
}

// query is the parameters of a request.
type query struct {
	url.Values
	s *server
}

func (q *query) int(name string, or int64) (int64, error) {
	text := q.Get(name)
	if text == "" {
		return or, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, shardify.Usage("%s %q: want a whole number", name, text)
	}
	return n, nil
}

// part is the side and the split that a parameter names: "0/train".
func (q *query) part(name string) (*side, *part, error) {
	number, split, _ := strings.Cut(q.Get(name), "/")
	if number == "" {
		number = "0"
	}
	i, err := strconv.ParseInt(number, 10, 32)
	sd := q.s.side(i)
	if err != nil || sd == nil {
		return nil, nil, shardify.Usage("no set %q", q.Get(name))
	}
	for _, p := range sd.parts {
		if p.split == split {
			return sd, p, nil
		}
	}
	return nil, nil, shardify.Usage("%s has no split %q", sd.name, split)
}

type fieldFacts struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Unit   string   `json:"unit,omitempty"`
	Dims   []string `json:"dims,omitempty"`
	Labels []string `json:"labels,omitempty"`
	Of     int      `json:"of,omitempty"` // labels
	Sort   bool     `json:"sort,omitempty"`
}

type partFacts struct {
	At      string       `json:"at"`
	Name    string       `json:"name"`
	Samples int64        `json:"samples"`
	Keyed   bool         `json:"keyed"`
	Loader  bool         `json:"loader"`
	Ended   string       `json:"ended,omitempty"`
	Fields  []fieldFacts `json:"fields"`
}

type sideFacts struct {
	Name   string      `json:"name"`
	Format string      `json:"format"`
	ID     string      `json:"id,omitempty"`
	Digest string      `json:"digest,omitempty"`
	About  string      `json:"about"`
	Parts  []partFacts `json:"parts"`
}

// facts is what manifests and headers say.
func (s *server) facts(_ *http.Request, _ *query) (any, error) {
	var out struct {
		Sides   []sideFacts `json:"sides"`
		Changes []string    `json:"changes"` // operations of --augment
	}
	for i := range int64(2) {
		x := s.side(i)
		if x == nil {
			break
		}
		f := sideFacts{Name: x.name, Format: x.request.Format.Name, ID: x.id, Digest: x.digest, About: x.about}
		for _, p := range x.parts {
			f.Parts = append(f.Parts, p.facts(i, x))
		}
		out.Sides = append(out.Sides, f)
	}
	for i := range augment.Table {
		out.Changes = append(out.Changes, augment.Table[i].Example()+"  "+augment.Table[i].Help)
	}
	return out, nil
}

func (p *part) facts(side int64, x *side) partFacts {
	out := partFacts{At: strconv.FormatInt(side, 10), Name: p.name(x), Samples: p.total, Keyed: p.keyed(), Loader: p.manifest != nil}
	if p.split != "" {
		out.At += "/" + p.split
	}
	if p.ended != nil {
		out.Ended = shardify.Plain(p.ended)
	}
	for _, name := range p.fieldNames() {
		f := p.field(name)
		labels := f.Labels()
		out.Fields = append(out.Fields, fieldFacts{Name: name, Type: inspect.TypeOf(f), Unit: f.Attrs["unit"], Dims: f.Dims(), Labels: labels[:min(len(labels), mostNames)], Of: len(labels), Sort: sortable(f)})
	}
	return out
}

type samples struct {
	Total   int64   `json:"total"`
	From    int64   `json:"from"`
	Samples []shown `json:"samples"`
	Digest  string  `json:"digest,omitempty"` // of the set's manifest: another one is another version
	Note    string  `json:"note,omitempty"`
}

// samples are consecutive ones, those that ids names, or a whole one; changed by augmentations, if there are any.
func (s *server) samples(r *http.Request, q *query) (any, error) {
	out, lost, err := s.read(r.Context(), q)
	if sd, _, e := q.part("at"); e == nil && (err != nil || lost) && s.renew(r.Context(), sd) {
		out, _, err = s.read(r.Context(), q)
	}
	return out, err
}

func (s *server) read(ctx context.Context, q *query) (*samples, bool, error) {
	sd, p, err := q.part("at")
	if err != nil {
		return nil, false, err
	}
	from, err := q.int("from", 0)
	count, err2 := q.int("count", 24)
	seed, err3 := q.int("seed", 0)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, false, err
	}
	c, err := p.changing(q.Get("augment"), uint64(seed))
	if err != nil {
		return nil, false, err
	}
	out := &samples{Total: p.total, From: from, Samples: []shown{}, Digest: sd.digest}
	var list []int64
	if text := q.Get("ids"); text != "" {
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil || n < 0 || n >= p.total {
				return nil, false, shardify.Usage("no sample %q: the samples are 0 to %d", word, p.total-1)
			}
			list = append(list, n)
		}
	} else {
		if p.total > 0 && (from < 0 || from >= p.total) {
			return nil, false, shardify.Usage("no sample %d: the samples are 0 to %d", from, p.total-1)
		}
		for n := from; n < min(from+max(count, 1), p.total); n++ {
			if list = append(list, n); len(list) == mostRows {
				break
			}
		}
	}
	list = list[:min(len(list), mostRows)]
	size := few
	if q.Get("whole") != "" {
		size = full
	}
	lost := false
	var bytes int64
	for lo := 0; lo < len(list); {
		each := p.each(list[lo])
		if each > sampleBytes {
			out.Samples = append(out.Samples, shown{Sample: list[lo], Error: "the sample takes about " + shardify.FormatSize(each) + ", more than the page reads"})
			lo++
			continue
		}
		if bytes += each; bytes > pageBytes && lo > 0 {
			out.Note = "the samples are large: " + strconv.Itoa(lo) + " are shown at once"
			break
		}
		hi := lo + 1
		for ; hi < len(list) && list[hi] == list[hi-1]+1 && bytes+each <= pageBytes; hi++ {
			bytes += each
		}
		err := p.read(ctx, s.pool, p.whole(), list[lo], list[hi-1]+1, true, func(first int64, b *shardify.Batch) error {
			mem := s.pool.Overdraft()
			defer mem.Release()
			b, err := c.apply(b, mem)
			if err != nil {
				return err
			}
			for i := range b.Samples {
				out.Samples = append(out.Samples, shown{Sample: first + int64(i), Key: string(b.Key(i)), Pieces: p.pieces(b, i, size)})
			}
			return nil
		}, func(lo, _ int64, err error) {
			lost = true
			out.Samples = append(out.Samples, shown{Sample: lo, Error: shardify.Plain(err)})
		})
		if err != nil {
			return nil, lost, err
		}
		lo = hi
	}
	return out, lost, nil
}

func (s *server) find(r *http.Request, q *query) (any, error) {
	_, p, err := q.part("at")
	from, err2 := q.int("from", 0)
	most, err3 := q.int("count", 24)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	return p.find(r.Context(), s.pool, q.Get("where"), q.Get("text"), from, int(max(1, min(most, mostHits))))
}

// sort is a stretch of the samples in the order of a field.
func (s *server) sort(r *http.Request, q *query) (any, error) {
	_, p, err := q.part("at")
	from, err2 := q.int("from", 0)
	count, err3 := q.int("count", 24)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	all, err := p.rank(r.Context(), s.pool, q.Get("by"), q.Get("falling") != "")
	if err != nil {
		return nil, err
	}
	out := *all
	n := int64(len(out.IDs))
	lo := max(0, min(from, n))
	out.IDs = out.IDs[lo:min(n, lo+max(0, min(count, mostRows)))]
	return out, nil
}

func (s *server) order(r *http.Request, q *query) (any, error) {
	_, p, err := q.part("at")
	if err != nil {
		return nil, err
	}
	var n [6]int64
	for i, name := range []string{"from", "count", "seed", "epoch", "batch", "world"} {
		if n[i], err = q.int(name, []int64{0, 24, 0, 0, 32, 1}[i]); err != nil {
			return nil, err
		}
	}
	if n[4] < 1 || n[4] > 1<<24 || n[5] < 1 || n[5] > 1<<20 {
		return nil, shardify.Usage("want a batch and a number of ranks from 1 on")
	}
	c := gpuload.Config{Shuffle: gpuload.Shuffle(q.Get("shuffle")), Seed: uint64(n[2]), Epoch: int(n[3]), Batch: int(n[4]), World: int(n[5])}
	return p.order(r.Context(), c, n[0], min(n[1], mostHits))
}

// file is an image, a recording, or a slice of an array as a picture.
func (s *server) file(w http.ResponseWriter, r *http.Request) {
	if !s.begin(r) {
		return
	}
	defer s.end()
	data, kind, err := s.media(r.Context(), &query{Values: r.URL.Query(), s: s})
	if err != nil {
		http.Error(w, shardify.Plain(err), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (s *server) media(ctx context.Context, q *query) (data []byte, kind string, err error) {
	_, p, err := q.part("at")
	n, err2 := q.int("n", 0)
	seed, err3 := q.int("seed", 0)
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, "", err
	}
	if n < 0 || n >= p.total || p.each(n) > sampleBytes {
		return nil, "", shardify.Usage("no sample %d, or one that is too large", n)
	}
	c, err := p.changing(q.Get("augment"), uint64(seed))
	if err != nil {
		return nil, "", err
	}
	l := p.whole()
	if len(c.list) == 0 && p.field(q.Get("field")) != nil {
		if l, err = p.with(ctx, []string{q.Get("field")}); err != nil {
			return nil, "", err
		}
	}
	var lost error
	err = p.read(ctx, s.pool, l, n, n+1, true, func(_ int64, b *shardify.Batch) error {
		mem := s.pool.Overdraft()
		defer mem.Release()
		b, err := c.apply(b, mem)
		if err != nil {
			return err
		}
		data, kind, err = p.encoded(b, q.Get("field"), q.Get("slice"))
		return err
	}, func(_, _ int64, err error) { lost = err })
	return data, kind, errors.Join(err, lost)
}

// encoded is a field of the only sample of a batch as a browser shows it.
func (p *part) encoded(b *shardify.Batch, field, slice string) ([]byte, string, error) {
	k := column(b, field)
	if k < 0 || b.Samples != 1 {
		return nil, "", shardify.Usage("no field %q", field)
	}
	c := &b.Columns[k]
	lo, hi := c.Range(0, 1)
	data := c.Data[lo:hi]
	if c.Media != "" {
		kind := imageType(data)
		if kind == "" {
			kind = soundType(data)
		}
		if kind == "" || len(data) > mostFile {
			return nil, "", shardify.Unsupported("%s of %s", c.Media, shardify.FormatSize(int64(len(data))))
		}
		return bytes.Clone(data), kind, nil
	}
	fr := frameOf(&c.Field, shape(b, c, 0), p.coords())
	if fr == nil {
		return nil, "", shardify.Unsupported("the field is no picture")
	}
	at := make([]int, len(fr.steps))
	for i, word := range strings.Split(slice, ",") {
		if i < len(at) {
			n, _ := strconv.Atoi(word)
			at[i] = max(0, min(n, fr.depths()[i]-1))
		}
	}
	png, err := draw(&values{t: c.DType, data: data}, fr, at)
	return png, "image/png", err
}

// report is figures of one part, of two side by side, or how two sets differ.
func (s *server) report(w http.ResponseWriter, r *http.Request) {
	if !s.begin(r) {
		return
	}
	defer s.end()
	w.Header().Set("Content-Security-Policy", reportPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	var out bytes.Buffer
	if err := s.write(r.Context(), &out, &query{Values: r.URL.Query(), s: s}); err != nil {
		out.Reset()
		if failure(&out, err) != nil {
			return
		}
	}
	_, _ = w.Write(out.Bytes())
}

func (s *server) write(ctx context.Context, w *bytes.Buffer, q *query) error {
	sd, p, err := q.part("at")
	if err != nil {
		return err
	}
	parts, names := []*part{p}, []string{p.name(sd)}
	if q.Get("with") != "" {
		other, p2, err := q.part("with")
		if err != nil {
			return err
		}
		if q.Get("diff") != "" {
			return differences(ctx, w, sd, other)
		}
		if parts, names = append(parts, p2), []string{p.short(sd), p2.short(other)}; names[0] == names[1] {
			names = []string{p.name(sd), p2.name(other)}
		}
	}
	return statistics(ctx, w, s.pool, parts, names, q.Get("all") != "")
}
