package files

import (
	"context"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage/walk"
)

// maxFile is the most that a sample may take: it is held in memory as a whole.
const maxFile = 8 << 30

// none marks a file that a sample lacks.
const none = math.MaxUint32

// groups is which files belong together: 4 bytes per sample and 10 per file, since
// a million files must not cost a string each.
type groups struct {
	first []uint32 // per sample: the file that came first
	of    []uint32 // per file: its sample
	ext   []uint16 // per file: index into exts
	exts  []string
	kind  []uint16 // per sample: its place in kinds, or more than there are
	kinds []kindOf
	// A file whose name ends elsewhere by another rule, or "": see labels.Number.
	numbered string
	many     bool // nothing else is known: there are too many extensions if names end at the first dot
}

// groupAuto is group where names may also go on behind digits: cat.1.jpg to cat.9999.jpg have no 9999 extensions.
func groupAuto(ctx context.Context, n *names, auto bool) (*groups, error) {
	g, err := group(ctx, n)
	if err != nil && auto && g != nil && g.numbered != "" {
		return &groups{numbered: g.numbered, many: true}, nil
	}
	return g, err
}

// group collects the files of each stem, whatever their order; samples are in the order of
// their first files.
func group(ctx context.Context, n *names) (*groups, error) {
	t := n.Table
	if t.Len() >= none {
		return nil, shardify.Unsupported("more than %d files", uint32(none-1))
	}
	g := &groups{of: make([]uint32, t.Len()), ext: make([]uint16, t.Len())}
	var ids exts.Numbers
	index := newStems(n, g)
	ends := make([]uint32, t.Len())
	for i := range t.Len() {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		folder, stem, ext := n.Split(i)
		id, err := ids.ID(ext)
		if err != nil {
			if len(ids.List) < exts.Max {
				g = nil
			}
			return g, fileError("open", t, i, err)
		}
		g.ext[i] = id
		if n.By == labels.First && g.numbered == "" && len(ext) > 1 && '0' <= ext[1] && ext[1] <= '9' {
			if base := n.Rel(i)[len(folder):]; labels.Number.End(base) > len(stem) {
				g.numbered = quote(base[:labels.Number.End(base)])
			}
		}
		ends[i] = uint32(len(folder) + len(stem))
		g.of[i] = index.sample(i, folder, stem)
	}
	g.exts, n.Ends = ids.List, ends
	g.findKinds(n)
	return g, nil
}

func fileError(op string, t *format.Table, i int, err error) error {
	return shardify.Annotate(err, op, walk.Quote(t.Path(i)), "")
}
