package root

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/root/internal/rntuple"
)

// ntuple is an RNTuple as a table.
type ntuple struct {
	n      *rntuple.Ntuple
	at     string
	list   []field
	cannot []leftOut
}

func newNtuple(n *rntuple.Ntuple, path string) *ntuple {
	x := &ntuple{n: n, at: path}
	for i := range n.Flats {
		f := &n.Flats[i]
		x.list = append(x.list, field{Field: f.Field, aliases: []string{n.Path(f.FieldID)}, bytes: 0})
	}
	x.estimate()
	for _, u := range n.Unreadable {
		x.cannot = append(x.cannot, leftOut{name: u.Name, reason: u.Reason})
	}
	return x
}

// estimate finds out how large each jagged field is.
func (x *ntuple) estimate() {
	for i := range x.list {
		f := &x.list[i]
		if f.Levels == 0 {
			f.bytes = x.n.Entries * int64(f.ElemBytes())
			continue
		}
		s := x.n.Select([]int{i})
		for c := range x.n.Clusters {
			f.bytes += s.Bytes(c)
		}
	}
}

func (x *ntuple) path() string    { return x.at }
func (x *ntuple) entries() int64  { return x.n.Entries }
func (x *ntuple) fields() []field { return x.list }
func (x *ntuple) left() []leftOut { return x.cannot }

func (x *ntuple) try([]int) map[int]string { return nil }

// borders are the clusters' ends. A cluster may be cut inside: pages are small.
func (x *ntuple) borders(want []int) rows.Borders {
	var at []int64
	largest := int64(1)
	for _, c := range x.n.Clusters {
		if c.FirstEntry > 0 && c.FirstEntry < x.n.Entries {
			at = append(at, c.FirstEntry)
		}
		largest = max(largest, c.Entries)
	}
	b := rows.Borders{At: inner(at, x.n.Entries)}
	if len(b.At) == 0 {
		b = rows.Borders{Every: max(x.n.Entries, 1)}
	}
	perEntry := 0.0
	for _, i := range want {
		perEntry += float64(x.list[i].bytes) / float64(max(x.n.Entries, 1))
	}
	b.Inside = int64(min(max(insideBytes/max(perEntry, 1e-9), 1), 1<<31))
	return b
}

func (x *ntuple) describe() []string {
	stored := int64(0)
	for i := range x.n.Columns {
		stored += x.n.Stored(i)
	}
	v := x.n.Version
	return []string{
		fmt.Sprintf("%s: RNTuple %d.%d.%d.%d by %s with %d entries, %d fields, %d columns of %s", x.at, v[0], v[1], v[2], v[3], x.n.Writer,
			x.n.Entries, len(x.n.Fields), len(x.n.Columns), shardify.FormatSize(stored)),
		fmt.Sprintf("%s: %d clusters", x.at, len(x.n.Clusters)),
	}
}

// ntupleReader reads spans of an RNTuple.
type ntupleReader struct {
	r    *rntuple.Reader
	cols []shardify.Column
}

func (x *ntuple) reader(want []int) tableReader {
	return &ntupleReader{r: x.n.Select(want).Reader()}
}

func (r *ntupleReader) read(ctx context.Context, lo, hi int64, mem *shardify.Arena, cols []*shardify.Column) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	clear(r.cols)
	got, err := r.r.Read(ctx, lo, hi, mem, r.cols[:0])
	if err != nil {
		return err
	}
	r.cols = got
	for i := range got {
		cols[i].Data, cols[i].Offsets, cols[i].Valid = got[i].Data, got[i].Offsets, got[i].Valid
	}
	return nil
}
