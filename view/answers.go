package view

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/pipeline/inspect"
)

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
