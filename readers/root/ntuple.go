package root

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/set"
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
	deep := map[int]string{}
	for i := range n.Flats {
		f := &n.Flats[i]
		fd := field{Field: f.Field, aliases: []string{n.Path(f.FieldID)}}
		if f.Deep {
			deep[f.FieldID] = f.Name
		}
		if f.Lists {
			fd.of, fd.aliases = deep[f.FieldID], []string{n.Path(f.FieldID) + ".lengths"}
		}
		x.list = append(x.list, fd)
	}
	x.estimate()
	for _, u := range n.Unreadable {
		x.cannot = append(x.cannot, leftOut{name: u.Name, reason: u.Reason})
	}
	return x
}

// sampled is how many clusters are looked at for the sizes of fields.
const sampled = 16

// estimate finds out how large each jagged field is.
func (x *ntuple) estimate() {
	for i := range x.list {
		f := &x.list[i]
		if f.Levels == 0 {
			f.bytes = x.n.Entries * int64(f.ElemBytes())
			continue
		}
		s := x.n.Select([]int{i})
		step := len(x.n.Clusters)/sampled + 1
		entries := int64(0)
		for c := 0; c < len(x.n.Clusters); c += step {
			f.bytes += s.Bytes(c)
			entries += x.n.Clusters[c].Entries
		}
		if step > 1 && entries > 0 {
			f.bytes = int64(float64(f.bytes) / float64(entries) * float64(x.n.Entries))
		}
	}
}

func (x *ntuple) path() string    { return x.at }
func (x *ntuple) entries() int64  { return x.n.Entries }
func (x *ntuple) fields() []field { return x.list }
func (x *ntuple) left() []leftOut { return x.cannot }

func (x *ntuple) try([]int) map[int]string { return nil }

// equalLists returns nothing: collections share their offsets, and of others nothing is known.
func (x *ntuple) equalLists([]int) map[int]string { return nil }

// borders are the clusters' ends. A cluster may be cut inside: pages are small.
func (x *ntuple) borders(want []int) set.Borders {
	var at []int64
	for _, c := range x.n.Clusters {
		if c.FirstEntry > 0 && c.FirstEntry < x.n.Entries {
			at = append(at, c.FirstEntry)
		}
	}
	b := set.Borders{At: inner(at, x.n.Entries)}
	if len(b.At) == 0 {
		b = set.Borders{Every: max(x.n.Entries, 1)}
	}
	b.Inside = x.n.Select(want).Inside(insideBytes)
	return b
}

func (x *ntuple) describe() []string {
	stored := int64(0)
	for i := range x.n.Columns {
		stored += x.n.Stored(i)
	}
	v := x.n.Version
	return []string{
		fmt.Sprintf("%s: RNTuple %d.%d.%d.%d by %s with %s, %s, %s of %s", x.at, v[0], v[1], v[2], v[3], x.n.Writer,
			many(x.n.Entries, "entry", "entries"), many(len(x.n.Fields), "field", "fields"), many(len(x.n.Columns), "column", "columns"), shardify.FormatSize(stored)),
		fmt.Sprintf("%s: %s", x.at, many(len(x.n.Clusters), "cluster", "clusters")),
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

// close has nothing to do: what it holds are a few pages.
func (r *ntupleReader) close() {}

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
