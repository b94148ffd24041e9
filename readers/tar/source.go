package tar

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
	"golang.org/x/sync/errgroup"
)

// survey is what the headers of all tars say.
type survey struct {
	head
	tars []*content
}

// head is stored once for all tars.
type head struct {
	Exts  []string          `json:"exts"`
	Facts []common          `json:"facts"`
	Left  []format.Leftover `json:"left,omitempty"`
	Notes []string          `json:"notes,omitempty"`
}

type source struct {
	*survey
	table   *format.Table
	keys    string
	all     []field // of the survey
	cols    []field // wanted, in the order of the schema
	schema  []shardify.Field
	place   []int   // of each extension in cols, -1 if it is not wanted
	code    []uint8 // of each extension in its field
	need    []int   // cols that a sample must have
	kept    []*content
	dropped []format.Leftover // samples
	first   []int64           // number of each tar's first sample
	width   int               // of ordinal keys
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	set, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	if a.Table == nil || a.Table.Len() == 0 {
		return nil, shardify.Unsupported("no input files")
	}
	s := &source{table: a.Table, keys: set[optKeys]}
	if a.State != nil {
		s.survey, err = decodeState(a.State, a.Table.Len())
	} else {
		s.survey, err = surveyAll(ctx, a.Table, a.Jobs)
	}
	if err != nil {
		return nil, err
	}
	s.whole()
	s.all = s.fields()
	if err := s.project(a.Columns); err != nil {
		return nil, err
	}
	if set[optText] == "bytes" {
		for i := range s.cols {
			if f := &s.cols[i]; format.IsText(f.Media) {
				f.Media = "bin"
				a.Used.Mark(optText)
			}
		}
	}
	if err := s.missing(set[optMissing]); err != nil {
		return nil, err
	}
	s.keep()
	s.describe()
	if a.State == nil {
		if err := s.checkUnique(); err != nil {
			return nil, err
		}
	}
	return s, shardify.ValidateSchema(s.schema)
}

// surveyAll reads the headers of all tars.
func surveyAll(ctx context.Context, t *format.Table, jobs int) (*survey, error) {
	scans := make([]*scan, t.Len())
	g, each := errgroup.WithContext(ctx)
	if jobs <= 0 {
		jobs = 4
	}
	g.SetLimit(jobs)
	for i := range t.Len() {
		g.Go(func() (err error) {
			scans[i], err = scanTar(each, t, i)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	s := &survey{}
	ids := map[string]uint16{}
	forms, left, again := map[tar.Rule]int64{}, map[string]int64{}, int64(0)
	for i, x := range scans {
		if err := s.add(x, ids); err != nil {
			return nil, shardify.Annotate(err, "open", t.Path(i), "")
		}
		for r, n := range x.forms {
			forms[r] += n
		}
		for r, n := range x.left {
			left[r] += n
		}
		again += x.again
		scans[i] = nil
	}
	if len(s.Exts) == 0 {
		return nil, shardify.Mismatch("the tars hold no members that belong to samples")
	}
	s.note(forms, left, again)
	return s, nil
}

// whole gives arrays their headers back if others of their name are not arrays, or have
// another type: then all of them are opaque bytes.
func (s *survey) whole() {
	for id, ext := range s.Exts {
		if lastPart(ext) != "npy" || s.Facts[id].Array {
			continue
		}
		for _, c := range s.tars {
			for i := range c.members {
				if m := &c.members[i]; m.ext == uint16(id) {
					m.head = 0
				}
			}
		}
	}
}

// add adds a tar, whose extensions get the numbers that they have here.
func (s *survey) add(x *scan, ids map[string]uint16) error {
	to := make([]uint16, len(x.exts))
	for i, ext := range x.exts {
		id, ok := ids[ext]
		if !ok {
			if len(s.Exts) == maxExts {
				return shardify.Unsupported("more than %d different extensions (%s, ...): names with dots?", maxExts, s.Exts[0])
			}
			id = uint16(len(s.Exts))
			ids[ext], s.Exts, s.Facts = id, append(s.Exts, ext), append(s.Facts, common{})
		}
		to[i] = id
		s.Facts[id].merge(&x.common[i])
	}
	for i := range x.members {
		x.members[i].ext = to[x.members[i].ext]
	}
	s.tars = append(s.tars, &x.content)
	return nil
}

// note writes down what people should know.
func (s *survey) note(forms map[tar.Rule]int64, left map[string]int64, again int64) {
	for _, why := range slices.Sorted(maps.Keys(left)) {
		s.Left = append(s.Left, format.Leftover{Name: "members of tars", Reason: why, Count: left[why], Unit: "member"})
	}
	for _, r := range slices.Sorted(maps.Keys(forms)) {
		s.Notes = append(s.Notes, fmt.Sprintf("%d members have: %s (%s)", forms[r], r, r.Breaks()))
	}
	if again > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d times a sample goes on in another place of its tar: loaders would split it into several, here it is one", again))
	}
	for id, ext := range s.Exts {
		if f := &s.Facts[id]; lastPart(ext) == "npy" && !f.Array {
			s.Notes = append(s.Notes, fmt.Sprintf("%s is kept as opaque bytes: %s", ext, f.Why))
		}
	}
}

// project narrows the fields to the wanted ones.
func (s *source) project(columns []string) error {
	schema := make([]shardify.Field, len(s.all))
	for i := range s.all {
		schema[i] = s.all[i].Field
	}
	_, places, err := dataset.Project(schema, columns)
	if err != nil {
		return err
	}
	now := make([]int, len(s.all))
	for k, i := range places {
		now[i] = k
		f := s.all[i]
		if f.kind == shapeOf || f.kind == extOf {
			f.of = now[f.of] // companions come behind
		}
		s.cols = append(s.cols, f)
	}
	s.place, s.code = make([]int, len(s.Exts)), make([]uint8, len(s.Exts))
	for i := range s.place {
		s.place[i] = -1
	}
	for k := range s.cols {
		for code, id := range s.cols[k].exts {
			s.place[id], s.code[id] = k, uint8(code)
		}
	}
	return nil
}

// keep drops the samples that lack what they need.
func (s *source) keep() {
	s.kept = s.tars
	if len(s.need) == 0 {
		return
	}
	s.kept = nil
	has := make([]bool, len(s.cols))
	var dropped int64
	for _, c := range s.tars {
		k := &content{packing: c.packing}
		for i := range c.samples {
			clear(has)
			for _, m := range c.of(int64(i)) {
				if p := s.place[m.ext]; p >= 0 {
					has[p] = true
				}
			}
			if slices.ContainsFunc(s.need, func(p int) bool { return !has[p] }) {
				dropped++
				continue
			}
			k.members = append(k.members, c.of(int64(i))...)
			k.keys = append(k.keys, c.key(int64(i))...)
			k.samples = append(k.samples, sample{uint32(len(k.members)), uint32(len(k.keys))})
		}
		s.kept = append(s.kept, k)
	}
	if dropped > 0 {
		s.dropped = []format.Leftover{{Name: "samples", Reason: "without a member that others have (--missing drop)", Count: dropped, Unit: "sample"}}
	}
}

// total is the samples of all tars.
func (s *survey) total() (n int64) {
	for _, c := range s.tars {
		n += int64(len(c.samples))
	}
	return n
}

func (s *source) describe() {
	var n int64
	for _, c := range s.kept {
		s.first = append(s.first, n)
		n += int64(len(c.samples))
	}
	s.width = max(6, len(strconv.FormatInt(max(n-1, 0), 10)))
	for i := range s.cols {
		s.schema = append(s.schema, s.cols[i].Field)
	}
}

func (s *source) Schema() []shardify.Field { return slices.Clone(s.schema) }

func (s *source) Leftovers() []format.Leftover { return slices.Concat(s.Left, s.dropped) }

func (s *source) Notes() []string { return s.head.Notes }

func (s *source) Close() error { return nil }

// Reopen implements format.Reopener: readers open files by themselves.
func (s *source) Reopen() {}

// Spans cuts every tar at target bytes. A compressed one is a run.
func (s *source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for i, c := range s.kept {
			span := shardify.Span{Input: uint32(i)}
			if c.packing != plain {
				span.Run = uint32(i) + 1
			}
			for k := range int64(len(c.samples)) {
				if k%1024 == 0 && ctx.Err() != nil {
					yield(shardify.Span{}, context.Cause(ctx))
					return
				}
				n := s.sampleBytes(i, k)
				if span.Hi > span.Lo && span.Bytes+n > target {
					if !yield(span, nil) {
						return
					}
					span.Lo, span.Bytes = k, 0
				}
				span.Hi = k + 1
				span.Bytes += n
			}
			if span.Hi > span.Lo && !yield(span, nil) {
				return
			}
		}
	}
}

// sampleBytes is what a sample takes in a batch.
func (s *source) sampleBytes(input int, k int64) int64 {
	n := int64(s.keyLen(input, k)) + 8
	for i := range s.cols {
		f := &s.cols[i]
		if f.Nullable {
			n++
		}
		if f.Levels > 0 {
			n += 8
		} else {
			n += int64(f.ElemBytes())
		}
	}
	for _, m := range s.kept[input].of(k) {
		if p := s.place[m.ext]; p >= 0 && s.cols[p].Levels > 0 {
			n += m.size - int64(m.head)
		}
	}
	return n
}

// Keyed reports that batches carry Keys.
func (s *source) Keyed() bool { return true }

func (s *source) keyLen(input int, k int64) int {
	n := len(s.kept[input].key(k))
	switch s.keys {
	case "ordinal":
		return s.width
	case "shard":
		n += len(s.prefix(input))
	}
	return n
}

// prefix is the name of a tar as the beginning of keys.
func (s *source) prefix(input int) string {
	return path.Clean(stem(s.table.Name(input))) + "/"
}

func (s *source) appendKey(dst []byte, input int, k int64) []byte {
	switch s.keys {
	case "ordinal":
		var text [20]byte
		digits := strconv.AppendInt(text[:0], s.first[input]+k, 10)
		dst = append(dst, bytes.Repeat([]byte("0"), s.width-len(digits))...)
		return append(dst, digits...)
	case "shard":
		dst = append(dst, s.prefix(input)...)
	}
	return append(dst, s.kept[input].key(k)...)
}

// eachKey calls f with every key, until it returns false.
func (s *source) eachKey(f func(input int, k int64, key []byte) bool) {
	var key []byte
	for i, c := range s.kept {
		for k := range int64(len(c.samples)) {
			if key = s.appendKey(key[:0], i, k); !f(i, k, key) {
				return
			}
		}
	}
}

// checkUnique refuses names that several tars use: each would be in the output
// twice.
func (s *source) checkUnique() error {
	if s.keys == "ordinal" || len(s.kept) == 1 {
		return nil
	}
	var u dataset.Unique
	s.eachKey(func(_ int, _ int64, key []byte) bool { u.Add(key); return true })
	twice := u.Twice()
	if len(twice) == 0 {
		return nil
	}
	seen := map[string]int{}
	var err error
	n := 0
	s.eachKey(func(i int, _ int64, key []byte) bool {
		if !twice.Has(key) {
			return true
		}
		other, ok := seen[string(key)]
		if !ok {
			seen[string(key)] = i
			return true
		}
		if n++; err == nil {
			err = shardify.Mismatch("sample %.100q is in %s and in %s: --keys shard puts the tar's name before it, --keys ordinal numbers the samples instead",
				key, s.table.Shown(other), s.table.Shown(i))
		}
		return n < 1000
	})
	return err
}

// CheckKeys applies a sink's rule to all names.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	names := dataset.KeyCheck{MemberMax: memberMax, Rule: check}
	s.eachKey(func(_ int, _ int64, key []byte) bool { names.Add(key); return true })
	return names.Err()
}

// Reader returns a reader of one run.
func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if int64(run) > int64(len(s.kept)) || run > 0 && s.kept[run-1].packing == plain {
		return nil, fmt.Errorf("tars have no run %d", run)
	}
	return newReader(s, run), nil
}
