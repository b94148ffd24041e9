package hdf5

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
)

// items are the data sets that are samples, in order.
type items struct {
	names []string
	sets  map[string][]sampleGroup // by group
}

// listItems finds the data sets again.
func (i *input) listItems() (*items, error) {
	b := &i.blob
	not := map[string]bool{}
	for _, name := range b.Not {
		not[name] = true
	}
	byName, err := i.named(b.Parent)
	if err != nil {
		return nil, err
	}
	out := &items{sets: map[string][]sampleGroup{}}
	for name := range byName {
		if !not[name] {
			out.names = append(out.names, name)
		}
	}
	slices.SortFunc(out.names, naming.Natural)
	if int64(len(out.names)) != i.samples {
		return nil, errChanged("%d data sets in %s, had %d", len(out.names), naming.Rooted(b.Parent), i.samples)
	}
	if b.Order != "" {
		if err := i.orderBy(b.Order, out); err != nil {
			return nil, err
		}
	}
	for k := range b.Objects {
		if o := &b.Objects[k]; o.Item && out.sets[o.Path] == nil {
			if out.sets[o.Path], err = i.itemsOf(o.Path, out.names); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// named are the addresses of what a group holds.
func (i *input) named(group string) (map[string]int64, error) {
	links, err := i.Children(group)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int64, len(links))
	for k := range links {
		if l := &links[k]; l.Kind == h5.HardLink && l.Err == nil {
			out[l.Name] = l.Addr
		}
	}
	return out, nil
}

func (i *input) itemsOf(group string, names []string) ([]sampleGroup, error) {
	byName, err := i.named(group)
	if err != nil {
		return nil, err
	}
	out := make([]sampleGroup, len(names))
	for k, name := range names {
		addr, ok := byName[name]
		if !ok {
			return nil, errChanged("no %s/%s", group, name)
		}
		out[k] = sampleGroup{name, addr}
	}
	return out, nil
}

// orderBy puts the names in the order in which a data set lists them.
func (i *input) orderBy(list string, out *items) error {
	names := i.Listed(list, out.names)
	if names == nil {
		return errChanged("other names in %s", list)
	}
	out.names = names
	return nil
}

// samplesOf are the groups, or the data sets, that a blob's object is read from.
func (i *input) samplesOf(o *look.BlobObject) ([]sampleGroup, error) {
	if !o.Item {
		return i.groups()
	}
	all, err := i.items()
	if err != nil {
		return nil, err
	}
	return all.sets[o.Path], nil
}

// member opens a data set of a sample.
func (i *input) member(g sampleGroup, o *look.BlobObject) (*column.Dataset, error) {
	if !o.Item {
		return i.within(g, i.blob.Parent, o.Path)
	}
	p := o.Path + "/" + g.name
	obj, err := i.H5.Object(g.addr, p)
	if err != nil {
		return nil, err
	}
	return i.DatasetOf(obj, p)
}

// memberPath names a data set of a sample in errors.
func (i *input) memberPath(g sampleGroup, o *look.BlobObject) string {
	if o.Item {
		return strings.TrimPrefix(o.Path+"/"+g.name, "/")
	}
	return strings.TrimPrefix(naming.Join(i.blob.Parent+"/"+g.name, o.Path), "/")
}

// bytesOf appends the whole of a data set.
func (j *spanRead) bytesOf(ctx context.Context, a *column.Dataset, cols []colPlace) error {
	for _, c := range cols {
		v, col := &j.work.Vary[c.column], &j.batch.Columns[c.column]
		if col.DType != shardify.U8 || col.Levels != 1 {
			return errChanged("another type")
		}
		at, size := len(v.Data), int(a.Rows*a.RowBytes)
		v.Data = slices.Grow(v.Data, size)[:at+size]
		if err := a.Read(ctx, &j.work.Buffers, v.Data[at:], 0, a.Rows); err != nil {
			return err
		}
		v.Outer = append(v.Outer, int64(len(v.Data)))
	}
	return nil
}

// keys are the names of the span's samples.
func (j *spanRead) keys(prefix string) (*shardify.Column, error) {
	all, err := j.in.items()
	if err != nil {
		return nil, err
	}
	names := all.names[j.span.Lo:j.span.Hi]
	total := len(prefix) * len(names)
	for _, n := range names {
		total += len(n)
	}
	data, off := j.mem.Alloc(total)[:0], j.mem.Int64s(len(names)+1)
	off[0] = 0
	for k, n := range names {
		data = append(append(data, prefix...), n...)
		off[k+1] = int64(len(data))
	}
	return &shardify.Column{Field: index.KeyField(), Data: data, Offsets: [][]int64{off}}, nil
}

// keyPrefix is what comes before the names of an input, or "" if there is one input: the
// name of the file without its extension, and a number if an earlier one has it too.
func (s *source) keyPrefix(input uint32) string {
	s.prefixOnce.Do(func() {
		if s.table.Len() < 2 {
			return
		}
		seen := map[string]int{}
		for i := range s.table.Len() {
			name := string(s.table.NameBytes(i))
			if name == "" {
				name = path.Base(s.table.Name(i))
			}
			name = strings.TrimSuffix(name, path.Ext(name))
			if seen[name]++; seen[name] > 1 {
				name += "-" + strconv.Itoa(seen[name])
			}
			s.prefixes = append(s.prefixes, name+"/")
		}
	})
	if int(input) >= len(s.prefixes) {
		return ""
	}
	return s.prefixes[input]
}

// Keyed implements format.Keyer: data sets that are samples have names, and files that
// are may have.
func (s *source) Keyed() bool { return s.keyed || s.named.Keyed() }

// Columnar implements format.Columnar: data sets that are samples may be files.
func (s *source) Columnar() bool { return !s.keyed }

// CheckKeys implements format.Keyer.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	if !s.keyed {
		return s.named.CheckKeys(memberMax, check)
	}
	const maxTarName = 100
	ctx := context.Background()
	for in := range s.Inputs() {
		if in.Samples == 0 {
			continue
		}
		h, err := s.Acquire(ctx, &in)
		if err != nil {
			return err
		}
		all, err := h.Value.items()
		h.Release()
		if err != nil {
			return shardify.Annotate(err, "open", in.Name(), "")
		}
		for k, name := range all.names {
			key := []byte(s.keyPrefix(in.Index) + name)
			err := error(nil)
			if memberMax > 0 && len(key)+1+memberMax > maxTarName {
				err = shardify.Mismatch("it has %d bytes, before a member name of %d a tar holds %d", len(key), memberMax, maxTarName-1-memberMax)
			} else if check != nil {
				err = check(key)
			}
			if err != nil {
				return shardify.Annotate(fmt.Errorf("the name %q of sample %d does not fit the output: %w", name, int64(k)+in.First, err), "open", in.Name(), "")
			}
		}
	}
	return nil
}
