package files

import (
	"context"
	"math"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage/walk"
)

// maxFile is the most that a sample may take: it is held in memory as a whole.
const maxFile = 8 << 30

// maxExts bounds the different extensions of a data set; more of them are parts
// of names.
const maxExts = 1 << 12

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
	exts := extensions{ids: map[string]uint16{}}
	index := newStems(n, g)
	ends := make([]uint32, t.Len())
	for i := range t.Len() {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		folder, stem, ext := n.Split(i)
		id, err := exts.id(ext)
		if err != nil {
			if len(exts.list) < maxExts {
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
	g.exts, n.Ends = exts.list, ends
	g.findKinds(n)
	return g, nil
}

func fileError(op string, t *format.Table, i int, err error) error {
	return shardify.Annotate(err, op, walk.Quote(t.Path(i)), "")
}

// extensions numbers the normalised extensions in order of appearance.
type extensions struct {
	ids    map[string]uint16
	list   []string
	buf    []byte
	last   []byte // as it was given
	lastID uint16
}

func (e *extensions) id(ext []byte) (uint16, error) {
	if len(e.list) > 0 && string(ext) == string(e.last) {
		return e.lastID, nil
	}
	id, err := e.find(ext)
	e.last, e.lastID = append(e.last[:0], ext...), id
	return id, err
}

func (e *extensions) find(ext []byte) (uint16, error) {
	e.buf = normalise(e.buf[:0], ext)
	if id, ok := e.ids[string(e.buf)]; ok {
		return id, nil
	}
	if len(e.list) == maxExts {
		return 0, tooManyExts(e.list)
	}
	name := format.PlainName(string(e.buf))
	if err := shardify.ValidName(name); err != nil {
		return 0, err
	}
	if id, ok := e.ids[name]; ok {
		return id, nil // a sample with both has a field twice
	}
	id := uint16(len(e.list))
	e.ids[name] = id
	e.list = append(e.list, name)
	return id, nil
}

func tooManyExts(list []string) error {
	return shardify.Unsupported("more than %d different extensions (%s, ...): if names have dots, use --stem last",
		maxExts, strings.Join(list[:3], ", "))
}
