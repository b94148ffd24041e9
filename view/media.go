package view

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/shardify/shardify"
)

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
