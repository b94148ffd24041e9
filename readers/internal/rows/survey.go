package rows

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"golang.org/x/sync/errgroup"
)

const (
	// maxSamples and maxDecoded bound what one file may claim, so that sums of
	// samples and bytes do not overflow, and a file of holes is not an endless plan.
	maxSamples = 1 << 50
	maxDecoded = 1 << 52
	// maxFields bounds the fields of all different layouts together: files that have
	// nothing in common must not fill the memory before that is said.
	maxFields = 1 << 20
)

// entry is what is kept of a file, or of a part of it: 48 bytes. Lists that files may have in common are
// numbers of interned ones.
type entry struct {
	input   uint32
	layout  uint32
	borders uint32
	blob    uint32
	dims    uint32 // shapes of its fixed fields that are Ragged in the schema
	part    uint32 // number in parts
	samples int64
	size    int64
	jagged  int64 // decoded bytes of its jagged fields
}

// collector gathers the facts of all files. Facts are dropped as soon as they are
// interned: those of 100,000 files with 2,600 fields would not fit into memory.
type collector struct {
	table *format.Table
	f     *Format
	want  *Wanted

	mu      sync.Mutex
	entries []entry // by place in the table; foreign and bad ones have no layout
	more    []entry // further parts of files
	parts   parts
	layouts []*layout
	byKey   map[string]uint32
	fields  int // in layouts
	most    int // of fields
	borders interner
	blobs   interner
	dims    interner
	lines   []string
	piece   piece
	told    uint32 // 1 + the input that lines are about
	bad     failures
	foreign failures
	remarks map[string]*remark
	skips   bool // damaged inputs are left out
	skipped []skipped
	lost    []lost
}

// remark is a note about some files.
type remark struct {
	in      Inputs
	samples int64
}

// none is the layout of a file that is not in the set.
const none = 1<<32 - 1

// layout is the fields that some files have in common.
type layout struct {
	empty  bool // they have no samples
	fields []shardify.Field
	at     []int32            // index of each field in Facts.Fields
	bytes  []int64            // of jagged fields, summed over the files
	varies []bool             // the shape differs from file to file
	alike  alike              // lists that are equally long
	coords map[string]courses // by field
	left   []leftField
	void   []string

	files int64
	first []uint32 // the first of the files, in order
}

type leftField struct {
	name, reason string
	unreadable   bool
	input        uint32 // that the reason is about
	err          error  // the reason, nil where it is a text alone
}

// interner keeps equal byte strings once.
type interner struct {
	list [][]byte
	ids  map[string]uint32
}

func (n *interner) add(b []byte) uint32 {
	id, ok := n.ids[string(b)]
	if !ok {
		if n.ids == nil {
			n.ids = map[string]uint32{}
		}
		id = uint32(len(n.list))
		n.list = append(n.list, append([]byte(nil), b...))
		n.ids[string(b)] = id
	}
	return id
}

// remoteLooks is how many files of other machines are looked into at the same time.
const remoteLooks = 64

// survey looks into every file, several at once. Its goroutines end before it does.
func survey(ctx context.Context, a format.OpenArgs, f *Format, want *Wanted) (*collector, error) {
	if a.Table == nil || a.Table.Len() == 0 {
		return nil, shardify.Unsupported("no input files")
	}
	c := newCollector(a.Table, f, want)
	c.skips = a.SkipDamaged
	if err := EachInput(ctx, &a, func(ctx context.Context, i, _ int) error { return c.look(ctx, uint32(i)) }); err != nil {
		return nil, err
	}
	c.joinParts()
	return c, c.verdict()
}

// EachInput calls look for each input, several at once; workers is how many goroutines each call
// may have. Its goroutines end before it does, all of them at the first error.
func EachInput(ctx context.Context, a *format.OpenArgs, look func(ctx context.Context, input, workers int) error) error {
	n, jobs := a.Table.Len(), a.Jobs
	if jobs <= 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	workers := max(jobs/n, 1)
	if _, local := storage.Path(storages.Of(a.Table), a.Table.Path(0)); !local {
		jobs = max(jobs, remoteLooks) // they wait for answers
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(jobs, n) {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := look(ctx, int(i), workers); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// joinParts puts the parts of files in the order of their samples.
func (c *collector) joinParts() {
	if len(c.more) == 0 {
		return
	}
	c.entries = append(c.entries, c.more...)
	slices.SortStableFunc(c.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.input, b.input), cmp.Compare(c.parts.first(&a), c.parts.first(&b)))
	})
	c.more = nil
}

func newCollector(t *format.Table, f *Format, want *Wanted) *collector {
	return &collector{table: t, f: f, want: want, entries: make([]entry, t.Len()), byKey: map[string]uint32{}, most: maxFields}
}

// look surveys one file. Its error ends the survey; a bad file is not an error.
func (c *collector) look(ctx context.Context, input uint32) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c.entries[input] = entry{input: input, layout: none}
	facts, err := c.f.Look(ctx, c.table.Path(int(input)), c.want)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	var parts []*surveyed
	if err == nil && facts.Foreign == "" {
		parts, err = c.examine(facts)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil && c.skips && errors.Is(err, shardify.ErrCorrupt):
		c.skip(input, facts, err)
	case err != nil:
		c.bad.add(input, shardify.Annotate(err, "open", c.table.Shown(int(input)), ""))
	case parts == nil:
		c.foreign.add(input, errText(facts.Foreign))
	default:
		if len(facts.Skipped) > 0 {
			c.lost = append(c.lost, lost{input, facts.Skipped})
		}
		return c.addAll(input, facts, parts)
	}
	return nil
}

// digestAll checks the facts of a file, part by part.
func (c *collector) digestAll(facts *Facts) (parts []*surveyed, err error) {
	for i := -1; i < len(facts.More); i++ {
		f := facts
		if i >= 0 {
			f = facts.More[i]
		}
		s, err := c.digest(f)
		if err != nil {
			return nil, err
		}
		parts = append(parts, s)
	}
	return parts, nil
}

// addAll interns the facts of a file and of its further parts.
func (c *collector) addAll(input uint32, facts *Facts, parts []*surveyed) error {
	e := &c.entries[input]
	e.part = c.parts.add(facts.Part, 0)
	if err := c.add(e, facts, parts[0]); err != nil {
		return err
	}
	first := e.samples
	for i, f := range facts.More {
		f.Size = facts.Size
		c.more = append(c.more, entry{input: input, part: c.parts.add(f.Part, first), layout: none})
		if err := c.add(&c.more[len(c.more)-1], f, parts[i+1]); err != nil {
			return err
		}
		first += f.Samples
	}
	return nil
}

type errText string

func (e errText) Error() string { return string(e) }

// add interns the facts of a file. It is called with mu held; all that takes long
// was done before.
func (c *collector) add(e *entry, facts *Facts, s *surveyed) error {
	input := e.input
	if c.told == 0 || input < c.told-1 {
		c.told, c.lines = input+1, facts.Lines
	}
	if n := facts.PieceBytes; n > c.piece.bytes || n > 0 && n == c.piece.bytes && input < c.piece.input {
		c.piece = piece{facts.Piece, n, input}
	}
	e.samples, e.size = facts.Samples, facts.Size
	if facts.Remark != "" {
		if c.remarks == nil {
			c.remarks = map[string]*remark{}
		}
		r := c.remarks[facts.Remark]
		if r == nil {
			r = &remark{}
			c.remarks[facts.Remark] = r
		}
		r.in.Add(input)
		r.samples = satAdd(r.samples, facts.Samples)
	}
	e.borders, e.blob, e.dims = c.borders.add(s.borders), c.blobs.add(facts.Blob), c.dims.add(s.dims)
	id, ok := c.byKey[string(s.key)]
	if !ok {
		if c.fields += len(s.fields) + len(s.left) + len(s.void); c.fields > c.most {
			return shardify.Mismatch("the inputs have nothing in common: %d different sets of fields among the first ones looked at; name those that are one table, or the wanted fields with --columns", len(c.layouts))
		}
		id = uint32(len(c.layouts))
		c.byKey[string(s.key)] = id
		c.layouts = append(c.layouts, &layout{
			empty: facts.Samples == 0, fields: s.fields, at: s.at, void: s.void, bytes: make([]int64, len(s.fields)), varies: make([]bool, len(s.fields)), coords: map[string]courses{},
		})
	}
	e.layout = id
	e.jagged = c.layouts[id].join(input, s, !ok)
	return nil
}

// join adds a file to a layout. The result must not depend on the order of files.
func (l *layout) join(input uint32, s *surveyed, isNew bool) (jagged int64) {
	l.files++
	at, _ := slices.BinarySearch(l.first, input)
	l.first = slices.Insert(l.first, at, input)
	l.first = l.first[:min(len(l.first), shown)]
	l.alike = l.alike.refine(s.alike)
	for i := range s.coords {
		x := &s.coords[i]
		all := l.coords[x.Field].at(x.Dim)
		all[x.Dim].add(given{input, x.Name, x.Values})
		l.coords[x.Field] = all
	}
	for i := range s.fields {
		f := &s.fields[i]
		if n := s.bytes[i]; n > 0 {
			l.bytes[i] = satAdd(l.bytes[i], n)
			jagged = satAdd(jagged, n)
		}
		if isNew {
			continue
		}
		l.varies[i] = l.varies[i] || !slices.Equal(f.Shape, l.fields[i].Shape)
		l.fields[i].Attrs = commonAttrs(l.fields[i].Attrs, f.Attrs)
	}
	if isNew {
		for _, x := range s.left {
			l.left = append(l.left, leftField{x.Name, x.Reason, x.Unreadable, input, x.Err})
		}
		return jagged
	}
	for i, x := range s.left {
		if input < l.left[i].input {
			l.left[i] = leftField{x.Name, x.Reason, x.Unreadable, input, x.Err}
		}
	}
	return jagged
}
