package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// Where an extension keeps its files, below the data set's folder.
const (
	extendDir = storage.Private + "/extend"
	workDir   = extendDir + "/work"          // the new shards, a conversion of its own until they are published
	doneDir   = extendDir + "/done"          // what is being removed
	lockName  = extendDir + "/lock"          // held by the process that publishes
	baseName  = storage.Private + "/extends" // below workDir: digest of the manifest that is extended
)

// Extension is further shards for a data set.
//
//	e, err := sets.OpenExtension("out")
//	plan a conversion to e.Staging with e.Compile; e.Fits(plan, source)
//	job.Sink = e.Sink(plan, job.Sink); job.Convert(ctx)
//	m, err := e.Publish(ctx)
type Extension struct {
	Base    *Set
	Staging string
	// Lost are coordinates that Fits found the set to lose: only it or only the inputs have them.
	Lost []string
	// Steps, if set, has what Publish waits for.
	Steps *stall.Board
	dir   string
}

// OpenExtension opens a finished data set.
func OpenExtension(dir string) (*Extension, error) {
	dir = dataset.Folder(dir)
	if storage.Scheme(dir) != "" {
		err := shardify.Unsupported("%s is not a folder of this machine: only sets in folders are extended", dir)
		return nil, shardify.Hint(err, "extend a copy in a folder, or convert all inputs to a new place")
	}
	base, err := openBase(dir)
	if err != nil {
		return nil, err
	}
	if err := base.alone("extend"); err != nil {
		return nil, err
	}
	return &Extension{Base: base, dir: dir, Staging: filepath.Join(dir, filepath.FromSlash(workDir))}, nil
}

// openBase opens a set, whose splits are those that its manifest names. It reads them again where another version may
// have been published between the manifest of the set and those of its splits.
func openBase(dir string) (*Set, error) {
	for again := dataset.Refetches; ; again-- {
		s, err := Open(dir)
		if err != nil {
			return nil, err
		}
		for name, split := range s.Splits {
			if split.Manifest.Digest != s.Manifest.Splits[name].Digest {
				err = shardify.Annotate(shardify.Corrupt(-1, "its digest is not the one in the manifest of the set"), "open", storage.Join(split.Dir, index.ManifestName), "")
			}
		}
		if err == nil || again == 0 {
			return s, err
		}
	}
}

// overlap is inputs that are part of a set already.
type overlap struct {
	Inputs int
	First  string
	All    bool // nothing is new
}

// Known finds inputs of a plan among those that the set was made from, as far as it
// remembers where they were.
func (e *Extension) Known(p *plan.Plan) (o overlap, err error) {
	known := map[string]struct{}{}
	plans := []string{plan.FileName}
	entries, err := os.ReadDir(filepath.Join(e.dir, filepath.FromSlash(extendDir)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return o, err
	}
	for _, x := range entries {
		// Of a part that the manifest does not have (it was made again) nothing is there.
		var part int
		if n, _ := fmt.Sscanf(x.Name(), "%d.plan", &part); n == 1 && part <= len(e.Base.Manifest.AsParts()) {
			plans = append(plans, extendDir+"/"+x.Name())
		}
	}
	for _, name := range plans {
		b, err := local.ReadOwn(filepath.Join(e.dir, filepath.FromSlash(name)), maxFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return o, err
		}
		old, err := plan.Decode(b)
		if err != nil {
			return o, shardify.Annotate(err, "extend", e.dir, "")
		}
		for i := range old.In.Table.Len() {
			known[absolute(old.In.Table.Path(i))] = struct{}{}
		}
	}
	for i := range p.In.Table.Len() {
		path := p.In.Table.Path(i)
		if _, ok := known[absolute(path)]; ok {
			if o.Inputs++; o.Inputs == 1 {
				o.First = path
			}
		}
	}
	o.All = o.Inputs > 0 && o.Inputs == p.In.Table.Len()
	return o, nil
}

func absolute(p string) string {
	if a, err := filepath.Abs(p); err == nil {
		return a
	}
	return p
}

// Fits refuses, before any data is read, a plan whose shards would not belong to the
// set: other fields, labels that it has not, names that are taken.
func (e *Extension) Fits(ctx context.Context, p *plan.Plan, src shardify.Source) error {
	m := e.Base.Manifest
	differs := func(format string, args ...any) error {
		return shardify.Annotate(shardify.Mismatch(format, args...), "extend", e.dir, "")
	}
	switch {
	case p.Out.Format != m.Format:
		return differs("the set has %s shards, the plan makes %s", m.Format, p.Out.Format)
	case m.Keyed && !p.Sample.Keyed:
		return differs("samples of the set have names of their own, those of the inputs have none")
	case p.Sample.Keyed && !m.Keyed:
		return differs("samples of the inputs have names of their own, those of the set have none")
	case p.Splits.Rule != nil && len(m.Splits) == 0:
		return differs("the plan has splits, the set has none")
	case p.Splits.Rule == nil && len(m.Splits) > 0:
		return differs("the set has splits, the plan has none")
	}
	for _, name := range p.Splits.Names() {
		if e.Base.Splits[name] == nil {
			return differs("the set has no split %s", name)
		}
	}
	if _, err := e.labels(p.Sample.Schema); err != nil {
		return err
	}
	more := p.Manifest()
	var coords index.JoinedCoords
	if err := cmp.Or(coords.Add(m), coords.Add(&more)); err != nil {
		return shardify.Annotate(err, "extend", e.dir, "")
	}
	_, e.Lost = coords.Of()
	if p.Asked.Static != nil {
		more.Files = []shardify.File{p.Asked.Static.File}
	}
	if err := sameStatic(m, &more); err != nil {
		return shardify.Annotate(err, "extend", e.dir, "")
	}
	k, ok := src.(format.Keyer)
	if !m.Keyed || !ok {
		return nil
	}
	return e.uniqueWith(ctx, k)
}

// labels compares the schema of new samples with the set's, and returns for each field the set's
// code of each of its own codes; nil where they are the same.
func (e *Extension) labels(schema []shardify.Field) ([][]int64, error) {
	base := e.Base.Manifest.Schema
	var differ []string
	for i := range schema {
		if shardify.FieldIndex(base, schema[i].Name) < 0 {
			differ = append(differ, "the inputs have a field "+schema[i].Name+" that the set has not")
		}
	}
	codes := make([][]int64, len(schema))
	for i := range base {
		k := shardify.FieldIndex(schema, base[i].Name)
		if k < 0 {
			differ = append(differ, "the inputs have no field "+base[i].Name)
			continue
		}
		if k != i && len(schema) == len(base) {
			differ = append(differ, "field "+base[i].Name+" is at another position")
			continue
		}
		x, y := base[i], schema[k]
		x.Attrs, y.Attrs = without(x.Attrs), without(y.Attrs)
		if textOf(x) != textOf(y) {
			differ = append(differ, "field "+base[i].Name+" is "+textOf(schema[k])+" in the inputs, "+textOf(base[i])+" in the set")
			continue
		}
		map1, why := recode(base[i].Labels(), schema[k].Labels())
		if why != "" {
			differ = append(differ, "field "+base[i].Name+": "+why)
		}
		codes[k] = map1
	}
	if len(differ) > 0 {
		return nil, shardify.Annotate(shardify.Mismatch("%s", few(differ)), "extend", e.dir, "")
	}
	return codes, nil
}

// recode is which code of old each label of labels has.
func recode(old, labels []string) (codes []int64, why string) {
	if slices.Equal(old, labels) {
		return nil, ""
	}
	if old == nil || labels == nil {
		return nil, "only one of the set and the inputs has labels for its codes"
	}
	var unknown []string
	for _, l := range labels {
		at := slices.Index(old, l)
		if at < 0 {
			unknown = append(unknown, textOf(l))
		}
		codes = append(codes, int64(at))
	}
	if len(unknown) > 0 {
		return nil, "the set has no label " + few(unknown) + ": codes of a set stay as they are. shardify convert OLD NEW -o OUT with the inputs of the set and the new ones makes a set with all labels"
	}
	return codes, ""
}

// uniqueWith refuses names of new samples that the set has already.
func (e *Extension) uniqueWith(ctx context.Context, k format.Keyer) error {
	var all []*Set
	if len(e.Base.Splits) == 0 {
		all = append(all, e.Base)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Base.Splits)) {
		all = append(all, e.Base.Splits[name])
	}
	return uniqueBeside(ctx, all, k)
}

// Compile is compile with every survey answered by what the set's first conversion
// found out: new samples are normalised and encoded as the old ones were.
func (e *Extension) Compile(compile flow.Compile) flow.Compile {
	surveys := e.Base.Manifest.AsParts()[0].Surveys
	return func(ops []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		p, err := compile(ops, env)
		if err != nil {
			return nil, err
		}
		next := 0
		for _, list := range [][]flow.Stage{p.Before, p.After} {
			for i := range list {
				if v, ok := list[i].Transform.(shardify.Surveyor); ok {
					list[i].Transform = &learned{Surveyor: v, surveys: surveys, next: &next}
				}
			}
		}
		return p, nil
	}
}

// learned is a transform that needs no survey any more.
type learned struct {
	shardify.Surveyor
	surveys []index.Survey
	next    *int
	result  []byte
}

// Surveys: nothing.
func (l *learned) Surveys() string { return "" }

// Schema has the transform learn as soon as it knows its fields.
func (l *learned) Schema(in []shardify.Field) ([]shardify.Field, error) {
	out, err := l.Surveyor.Schema(in)
	what := l.Surveyor.Surveys()
	if err != nil || what == "" {
		return out, err
	}
	if l.result == nil {
		if *l.next >= len(l.surveys) || l.surveys[*l.next].What != what {
			return nil, shardify.Mismatch("the set does not say what was found out: %s", what)
		}
		l.result = []byte(l.surveys[*l.next].Result)
		*l.next++
	}
	if err := l.Surveyor.Learn(l.result); err != nil {
		return nil, err
	}
	return l.Surveyor.Schema(in)
}
