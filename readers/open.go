package readers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/tars"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/walk"
)

// Request is what Open gets beside the format.
type Request struct {
	// FS is where the inputs are; nil means the files of this machine.
	FS        storage.FS
	Inputs    []string
	FilesFrom io.Reader // a list of names; nil for none
	Columns   []string
	Options   format.Options // complete
	Jobs      int
	// Asked: the user named the format. Files of kinds that no reader
	// understands are then copied as they are, where the format copies files.
	Asked bool
	// Splits: those that the files hold are wanted, see format.Splitter.
	Splits bool
	// Folders: the first folders are splits, see format.OpenArgs.
	Folders bool
	// SkipDamaged: damaged inputs are left out, see format.OpenArgs.
	SkipDamaged bool
	// Rounds: fields may be rounded to f64, see format.OpenArgs.
	Rounds func(field string) bool
	// Late: shards are checked when they are read, see format.OpenArgs.
	Late bool
	// Scratch has room for what a survey finds, see format.OpenArgs.
	Scratch storage.Store
	// Follow: links found in folders may lead anywhere, see walk.Request.
	Follow bool
	// Parts: a list too long for one table may come in parts, see Opened.More.
	Parts bool
}

// Opened is a source with what it was opened from.
type Opened struct {
	Source shardify.Source
	Args   format.OpenArgs
	// LeftOut is what the listing of the inputs left out, before the source saw
	// it.
	LeftOut []format.Leftover
	// More is the rest of a list of inputs of which Args.Table is the first part. What
	// is left out is known at its end. nil if Args.Table has them all.
	More *More
}

// Idle is the error of an option that was given and had no effect. Of inputs in parts it is known
// at their end.
func (o *Opened) Idle(f *format.Input, given format.Options) error {
	if o.More != nil {
		return o.More.used.Idle(f.Options, given)
	}
	return o.Args.Used.Idle(f.Options, given)
}

// Open lists the inputs and opens them. Where a storage answers late, ctx also ends reads
// that the source makes, until a Job has them end with its own.
func Open(ctx context.Context, f format.Input, r Request) (*Opened, error) {
	bound, ok := r.fs().(*storage.Bound)
	if !ok {
		bound = storage.NewBound(r.fs())
	}
	bound.Until(ctx)
	r.FS = bound
	if err := splitObjects(ctx, &f, &r); err != nil {
		return nil, err
	}
	if parts, err := r.inParts(ctx, f); err != nil {
		return nil, err
	} else if parts {
		return openParts(ctx, f, r)
	}
	table, left, err := list(ctx, f, &r)
	if err != nil {
		return nil, err
	}
	return openTable(ctx, f, r, table, left)
}

func openTable(ctx context.Context, f format.Input, r Request, table *format.Table, left []format.Leftover) (*Opened, error) {
	remember := !f.Whole
	if remember {
		table.Remember(ctx, storages.Of(table)) // before anything is read
	}
	a := r.args(table)
	src, err := f.Open(ctx, a)
	if err != nil {
		return nil, table.Locate(err)
	}
	if err := damage(src); err != nil {
		return nil, errors.Join(table.Locate(err), src.Close())
	}
	if s, ok := src.(format.Strayer); ok {
		if strays, more := s.Strays(); len(strays) > 0 {
			src.Close()
			return openTable(ctx, f, r, without(table, strays), append(left, more...))
		}
	}
	if remember {
		table.RememberOpened(storages.Of(table))
	}
	return &Opened{Source: src, Args: a, LeftOut: left}, nil
}

// damage is the error about what a source was to leave out and that is damaged.
func damage(src shardify.Source) error {
	r, ok := src.(format.Reporter)
	if !ok {
		return nil
	}
	for _, l := range r.Leftovers() {
		if errors.Is(l.Err, shardify.ErrCorrupt) {
			return shardify.Annotate(l.Err, "open", "", l.Name)
		}
	}
	return nil
}

// Invents reports whether a format of this name takes no inputs.
func Invents(name string) bool {
	f, _ := Lookup(name)
	return f.Invents
}

// IsSet reports whether the inputs of a format are data sets, one manifest each.
func IsSet(name string) bool {
	f, ok := Lookup(name)
	return ok && f.Sets
}

// List lists the inputs as Open would, without opening them.
func List(ctx context.Context, f format.Input, r Request) (*format.Table, []format.Leftover, error) {
	return list(ctx, f, &r)
}

// list lists the inputs, and says in the request which tables of labels there are.
func list(ctx context.Context, f format.Input, r *Request) (*format.Table, []format.Leftover, error) {
	if f.Invents {
		if len(r.Inputs) > 0 || r.FilesFrom != nil {
			return nil, nil, shardify.Unsupported("%s invents its data and takes no inputs", f.Name)
		}
		return &format.Table{}, nil, nil
	}
	if f.Sets {
		t, err := sets(ctx, r.fs(), r.Inputs)
		return t, nil, err
	}
	if err := splitObjects(ctx, &f, r); err != nil {
		return nil, nil, err
	}
	r.Inputs = stands(&f, r.Inputs)
	w := walkOf(f, *r)
	if r.Options.Bool("zip") {
		return separateRoots(ctx, w)
	}
	t, left, err := walk.Walk(ctx, w)
	if errors.Is(err, walk.ErrNone) && f.Reads != nil && r.FilesFrom == nil {
		w.Keep = func(base string) bool { return f.Reads(nil, base) }
		t, left, err = walk.Walk(ctx, w)
	}
	if errors.Is(err, walk.ErrNone) && f.Companion { // the files of a set of splits are below
		if e := (&dataset.Besides{}).NoSplits(ctx, &format.Table{FS: r.fs(), Roots: r.Inputs}); e != nil {
			err = e
		}
	}
	if err == nil && f.StandIn != nil {
		left = slices.DeleteFunc(left, func(l format.Leftover) bool { return l.Count == int64(t.Len()) && f.StandIn(l.Name) != "" })
	}
	if err == nil && f.Tars != nil && f.Tars(r.Options) {
		t, left, err = tars.Expand(ctx, t, left)
	}
	if err == nil && f.Whole {
		return r.withoutTables(ctx, t, left)
	}
	return t, left, err
}

// stands names the files that stand for others, and the folder of a data set for its manifest.
func stands(f *format.Input, inputs []string) []string {
	if f.StandIn == nil {
		return inputs
	}
	var list []string
	for _, in := range inputs {
		if path.Base(in) == index.ManifestName {
			in = storage.Dir(in)
		}
		if in = standIn(f, in); !slices.Contains(list, in) {
			list = append(list, in)
		}
	}
	return list
}

func walkOf(f format.Input, r Request) walk.Request {
	w := walk.Request{FS: r.FS, Inputs: r.Inputs, FilesFrom: r.FilesFrom, Jobs: 4 * r.Jobs, Follow: r.Follow, Roots: f.Roots}
	if f.Whole {
		w.AnyKind = r.Asked
		w.NoStat = r.Options.Size("assume-size") > 0
	} else {
		also := f.Reads != nil && (r.FilesFrom != nil || slices.ContainsFunc(r.Inputs, func(in string) bool { return f.Reads(nil, path.Base(filepath.ToSlash(in))) }))
		w.Keep = func(base string) bool { return f.Sniff(nil, base) || also && f.Reads(nil, base) }
	}
	return w
}

// withoutTables leaves the tables of --labels out, and names those that are beside the files in the request,
// where they are asked for.
func (r *Request) withoutTables(ctx context.Context, t *format.Table, left []format.Leftover) (*format.Table, []format.Leftover, error) {
	var bare []string
	if r.Options["labels"] == labels.Beside {
		value, list, err := labels.FindBeside(ctx, storages.Of(t), t, r.Options["key"])
		if err != nil {
			return nil, nil, err
		}
		r.Options, bare = maps.Clone(r.Options), list
		r.Options["labels"] = value
	}
	var err error
	for _, table := range labels.Files(r.Options["labels"]) {
		if t, left, err = withoutLabels(ctx, t, left, table, "the table of --labels"); err != nil {
			return nil, nil, err
		}
	}
	for _, table := range bare {
		if t, left, err = withoutLabels(ctx, t, left, table, "it has names and no labels"); err != nil {
			return nil, nil, err
		}
	}
	return t, left, nil
}

// withoutLabels leaves the table of --labels out of the samples that it is about.
func withoutLabels(ctx context.Context, t *format.Table, left []format.Leftover, name, why string) (*format.Table, []format.Leftover, error) {
	st, err := stat(ctx, storages.Of(t), name)
	if st == nil || st.Type == storage.Folder {
		return t, left, err
	}
	for i := range t.Len() {
		if t.Size(i) != st.Size && t.Size(i) != format.SizeUnknown || filepath.Base(t.Path(i)) != filepath.Base(name) {
			continue
		}
		other, err := stat(ctx, storages.Of(t), t.Path(i))
		if err != nil {
			return nil, nil, err
		}
		if other == nil || !st.Same(other.Stamp) {
			continue
		}
		return without(t, []uint32{uint32(i)}), append(left, format.Leftover{Name: t.Name(i), Reason: why, Count: 1}), nil
	}
	return t, left, nil
}

// without is a table without some of its inputs, given in order.
func without(t *format.Table, inputs []uint32) *format.Table {
	rest := &format.Table{Roots: t.Roots, FS: t.FS}
	for k := range t.Len() {
		if len(inputs) > 0 && int(inputs[0]) == k {
			inputs = inputs[1:]
			continue
		}
		rest.Append(t.Root(k), string(t.NameBytes(k)), t.Size(k), t.ModTime(k))
	}
	return rest
}

// separateRoots lists every input under a root of its own: inputs side by side.
func separateRoots(ctx context.Context, w walk.Request) (*format.Table, []format.Leftover, error) {
	all := &format.Table{FS: w.FS}
	var left []format.Leftover
	for _, in := range w.Inputs {
		one := w
		one.Inputs = []string{in}
		t, l, err := walk.Walk(ctx, one)
		if err != nil {
			return nil, nil, err
		}
		root := len(all.Roots)
		all.Roots, left = append(all.Roots, t.Roots...), append(left, l...)
		for i := range t.Len() {
			all.Append(root+t.Root(i), string(t.NameBytes(i)), t.Size(i), t.ModTime(i))
		}
	}
	return all, left, nil
}

// sets makes the table of data sets: a line per manifest.
func sets(ctx context.Context, fs storage.FS, inputs []string) (*format.Table, error) {
	t := &format.Table{FS: fs}
	var bad []error
	for _, in := range inputs {
		if filepath.Base(in) != index.ManifestName {
			in = storage.Join(in, index.ManifestName)
		}
		st, err := fs.Stat(ctx, in)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		dir := storage.Dir(in)
		i := slices.Index(t.Roots, dir)
		if i >= 0 {
			bad = append(bad, fmt.Errorf("%s: given twice", dir))
			continue
		}
		t.Roots = append(t.Roots, dir)
		t.Append(len(t.Roots)-1, index.ManifestName, st.Size, st.ModTime)
	}
	return t, errors.Join(bad...)
}
