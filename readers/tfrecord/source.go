package tfrecord

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/tfrecord/schema"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// source is many files as one table.
type source struct {
	*set.Runs
	*set.Handles[*file]
	fs      storage.FS
	records string // as the option says
	steps   bool   // each is a sample
	text    bool
	skip    bool // records whose steps are damaged
	used    *format.Used
	sets    dataset.Besides

	// While the inputs are surveyed:
	found map[string]*surveyed // by path
	all   *schema.File
	named *schema.Named
	parts bool // files are of splits
	// counted are the fields of steps, by which those of a record are counted.
	counted []schema.Leaf
}

// surveyed is what a look at a file found.
type surveyed struct {
	err    error
	seen   *schema.File
	size   int64
	packed bool
	pieces [][2]int64   // bytes and samples from piece to piece
	bytes  int64        // of all records
	left   []lines.Left // records that are left out
	split  string
}

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), text: opts["text"] != "bytes", skip: a.SkipDamaged, records: opts[optRecords], used: a.Used, sets: dataset.Besides{Format: setFormat}}
	if s.records == "" {
		s.records = "example"
	}
	if s.steps = opts[optSample] == bySteps; s.steps && s.records != "example" {
		return nil, fmt.Errorf("%w: --%s %s reads steps of Examples, --%s %s takes records as they are", shardify.ErrUsage, optSample, bySteps, optRecords, s.records)
	}
	if a.State == nil {
		if opts[optParts] != "ignore" {
			if err := checkParts(a.Table); err != nil {
				return nil, err
			}
		}
		if err := s.survey(ctx, &a); err != nil {
			return nil, err
		}
	}
	key := "2\x00" + opts["text"] + "\x00" + s.records
	if s.steps {
		key += "\x00" + bySteps
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{Name: "TFRecord", Look: s.look, Key: key})
	if err != nil {
		return nil, err
	}
	s.found, s.all, s.named = nil, nil, nil
	s.Runs, err = set.NewRuns(all, func(in *set.Input) (bool, error) {
		x, err := decode(in.Blob, in.Size, in.Samples)
		return err == nil && x.serial(), err
	})
	s.Handles = set.NewHandles(openFile)
	return s, err
}

// survey looks at all records of all inputs: the fields are those of all.
func (s *source) survey(ctx context.Context, a *format.OpenArgs) error {
	var mu sync.Mutex
	s.found = map[string]*surveyed{}
	if s.steps && a.Table.Len() > 0 { // what has them must be known before
		if d, err := s.describe(ctx, storage.Dir(a.Table.Path(0))); err != nil {
			return err
		} else if err := s.name(ctx, d, a.Table.Path(0)); err != nil {
			return err
		}
	}
	err := survey.EachInput(ctx, a, func(ctx context.Context, input, _ int) error {
		path := a.Table.Path(input)
		x := &surveyed{}
		if x.seen, x.err = schema.NewFile(a.Table.Shown(input), input, s.steps, s.named); x.err == nil {
			x.err = s.surveyFile(ctx, path, x)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		mu.Lock()
		defer mu.Unlock()
		s.found[path] = x
		return nil
	})
	if err != nil {
		return err
	}
	if s.all, err = schema.NewFile("", 0, s.steps, s.named); err != nil {
		return err
	}
	dirs := map[string]*described{}
	var first *described
	var splits []string
	for i := range a.Table.Len() {
		path := a.Table.Path(i)
		x := s.found[path]
		if x.err != nil {
			continue
		}
		s.all.Join(x.seen)
		dir := storage.Dir(path)
		d := dirs[dir]
		if d == nil {
			if d, err = s.describe(ctx, dir); err != nil {
				return err
			}
			if dirs[dir] = d; first == nil {
				first = d
				if err := s.name(ctx, d, path); err != nil {
					return shardify.Annotate(err, "open", storage.Join(dir, tfrecord.FeaturesName), "")
				}
			} else if string(d.features) != string(first.features) {
				return shardify.Annotate(shardify.Mismatch("%s differs from that of other inputs", tfrecord.FeaturesName), "open", a.Table.Shown(i), "")
			}
		}
		if d.info == nil {
			continue
		}
		split, n := d.info.Of(path[strings.LastIndexByte(path, '/')+1:])
		if x.split = split; n >= 0 && n != x.seen.Records {
			x.err = shardify.Corrupt(-1, "%d records, %s says %d", x.seen.Records, tfrecord.InfoName, n)
		}
		if split != "" && !slices.Contains(splits, split) {
			splits = append(splits, split)
		}
	}
	if first != nil { // a file was readable
		if err := s.sets.Whole(ctx, a.Table); err != nil {
			return err
		}
		if err := s.count(); err != nil {
			return err
		}
	}
	if s.parts = a.Splits; len(splits) > 1 && !a.Splits {
		slices.Sort(splits)
		return several(splits)
	}
	return nil
}

// count finds the fields of steps.
func (s *source) count() error {
	if !s.steps {
		return nil
	}
	all, _, err := s.all.Fields(func(string) bool { return true }, s.text, s.named)
	if s.counted = slices.DeleteFunc(all, func(l schema.Leaf) bool { return !l.Step }); err == nil && len(s.counted) == 0 && s.all.Records > 0 {
		lists := "the records have no lists of features"
		if s.all.Sequence {
			lists = "no list of features in the records has a value"
		}
		err = shardify.Unsupported("--%s %s: %s names no sequence of steps, and %s", optSample, bySteps, tfrecord.FeaturesName, lists)
	}
	return err
}

// name takes what the manifest of a set of ours says, or else features.json.
func (s *source) name(ctx context.Context, d *described, path string) error {
	m, err := s.sets.Of(ctx, s.fs, path)
	switch {
	case err != nil || s.records != "example":
		return err
	case m != nil:
		s.named = &schema.Named{Fields: m.Schema}
		return nil
	case d.features == nil:
		return nil
	}
	dir := storage.Dir(path)
	n := &schema.Named{Labels: map[string][]string{}}
	if n.Specs, n.Odd, err = tfrecord.ParseFeatures(d.features); err != nil {
		return err
	}
	for key, spec := range n.Specs {
		if spec.Classes == 0 {
			continue
		}
		b, err := s.beside(ctx, storage.Join(dir, strings.ReplaceAll(key, "/", "-")+tfrecord.LabelsEnd))
		if err != nil {
			return err
		}
		if names := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n"); len(names) == spec.Classes && b != nil {
			n.Labels[key] = names
		}
	}
	s.named = n
	return nil
}

// surveyFile looks at all records of a file.
func (s *source) surveyFile(ctx context.Context, path string, x *surveyed) error {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return err
	}
	defer f.Close()
	x.size, x.pieces = f.Size(), [][2]int64{{}}
	scan, err := begin(f, x.size)
	if err != nil {
		return err
	}
	x.packed = scan.packed
	for n, samples := int64(0), int64(0); ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		record, err := scan.Next()
		if err == io.EOF {
			x.pieces = append(x.pieces, [2]int64{scan.Ends(), samples})
			return nil
		}
		if err == nil {
			x.bytes += int64(len(record))
			k := 1
			at := scan.At()
			if x.packed {
				at = -1
			}
			if k, err = s.add(x, record, at); err == nil {
				samples += int64(k)
			}
		}
		if err != nil {
			return shardify.Amend(err, func(e *shardify.Error) {
				if e.Sample = n; e.Offset < 0 && !scan.packed {
					e.Offset = scan.At()
				}
			})
		}
		if last := x.pieces[len(x.pieces)-1]; scan.Ends()-last[0] >= pieceBytes && samples > last[1] {
			x.pieces = append(x.pieces, [2]int64{scan.Ends(), samples})
		}
	}
}

// add looks at a record, which is at a byte of its file, and says how many samples it is.
func (s *source) add(x *surveyed, record []byte, at int64) (int, error) {
	if s.records == "example" {
		n, err := x.seen.Count(record)
		if err != nil && s.steps && s.skip && errors.Is(err, shardify.ErrCorrupt) {
			err = shardify.Amend(err, func(e *shardify.Error) { e.Offset = at })
			x.left = append(x.left, lines.Left{Record: fmt.Sprintf("record %d", x.seen.Records), Why: err})
			x.seen.Records++
			return 0, nil
		}
		if err == nil {
			err = x.seen.Add(n)
		}
		if err != nil {
			if !x.seen.Known && !errors.Is(err, shardify.ErrSchema) { // most likely none is one
				err = format.Cure(shardify.Corrupt(-1, "it is no tf.train.Example (%s); --%s bytes reads records of any kind", strings.TrimSuffix(format.Reason(err), ": "+shardify.ErrCorrupt.Error()), optRecords),
					format.With(optRecords, "bytes", "the bytes of each record"))
			}
		}
		return n, err
	}
	x.seen.Records++
	return 1, nil
}

// leaves are the fields.
func (s *source) leaves(want *columns.Wanted) ([]schema.Leaf, []format.Leftover, error) {
	wanted := func(name string) bool { hit, _ := want.Match(name); return hit }
	if s.records != "example" {
		if !wanted(whole) {
			return nil, nil, nil
		}
		media := map[string]string{"bytes": "bin", "json": "json"}[s.records]
		return []schema.Leaf{{Key: whole, Field: shardify.Field{Name: whole, DType: shardify.U8, Levels: 1, Media: media}}}, nil, nil
	}
	return s.all.Fields(wanted, s.text, s.named)
}

// whole is the field that has the bytes of records.
const whole = "record"

// look gives package rows what the survey found.
func (s *source) look(_ context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	x := s.found[path]
	if x.err != nil {
		return nil, x.err
	}
	leaves, left, err := s.leaves(want)
	if err != nil {
		return nil, err
	}
	samples := x.pieces[len(x.pieces)-1][1]
	facts := &survey.Facts{Samples: samples, Size: x.size, Left: left, Borders: set.Borders{Inside: 1}, Skipped: lines.Skips(samples, x.left)}
	if s.parts {
		facts.Part = x.split
	}
	for _, p := range x.pieces[1:] {
		facts.Borders.At = append(facts.Borders.At, p[1])
	}
	for i := range leaves {
		l := &leaves[i]
		f := survey.Field{Field: l.Field, Bytes: x.bytes}
		if s.records == "example" {
			if x.seen.Records > 0 && !x.seen.Has(l) {
				facts.Void = append(facts.Void, l.Field.Name)
				continue
			}
			if x.seen.Has(l) {
				f.Bytes, f.LengthClass = x.seen.Of(l)
			}
		}
		if l.Text {
			s.used.Mark("text")
		}
		facts.Fields = append(facts.Fields, f)
	}
	for _, l := range s.counted { // whether they are wanted or not
		if !slices.ContainsFunc(leaves, func(o schema.Leaf) bool { return o.Key == l.Key && o.Step }) {
			leaves = append(leaves, l)
		}
	}
	own, err := json.Marshal(leaves)
	facts.Blob = x.encode(own)
	return facts, err
}

// encode is what a plan keeps of a file: the fields, whether it is packed, and the pieces.
func (x *surveyed) encode(own []byte) []byte {
	b := append(binary.AppendUvarint(nil, uint64(len(own))), own...)
	n := len(x.pieces)<<2 | flag(len(x.left) > 0)<<1 | flag(x.packed)
	b = binary.AppendUvarint(b, uint64(n))
	last := [2]int64{}
	for _, p := range x.pieces {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p[0]-last[0])), uint64(p[1]-last[1]))
		last = p
	}
	return b
}
