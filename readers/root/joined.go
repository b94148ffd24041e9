package root

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/storage"
)

// joined is an input's table and those of its friends, open.
type joined struct {
	files  []*rows.Watched
	tables []table
	// friends are the files of tables that are not in the input's.
	friends map[int]string
	keyed   []*keyed // by table; nil for the main one and for friends by entry
	list    []joinedField
	cannot  []leftOut
	wanted  []int // of list, in order
	// damaged is what of the wanted columns is damaged.
	damaged []survey.Damage
}

// joinedField is a field of one of the tables, under a name that is unique in all.
type joinedField struct {
	field
	table, index int
}

// Close closes the files.
func (j *joined) Close() error {
	var err error
	for _, f := range j.files {
		err = errors.Join(err, f.Close())
	}
	j.files = nil
	return err
}

// sizes are those of the files that are joined by key, or nil.
func (j *joined) sizes() []int64 {
	if len(j.files) < 2 || !slices.ContainsFunc(j.keyed, func(k *keyed) bool { return k != nil }) {
		return nil
	}
	var all []int64
	for _, f := range j.files[1:] {
		all = append(all, f.Size())
	}
	return all
}

// failed is the error of a read that failed.
func (j *joined) failed() error {
	for _, f := range j.files {
		if err := f.Failed(); err != nil {
			return err
		}
	}
	return nil
}

// openJoined opens the tables of an input. in is the input's file, which is closed
// with the result, or after an error by the caller.
func (s *source) openJoined(ctx context.Context, in storage.File, name, input string) (j *joined, err error) {
	f := rows.Watch(in)
	j = &joined{files: []*rows.Watched{f}}
	defer func() {
		if err != nil {
			j.files = j.files[1:]
			j.Close()
		}
	}()
	main, err := rfile.Open(f, f.Size(), name)
	if err != nil {
		return j, err
	}
	t, err := openTable(main, f, s.opts["object"])
	if err != nil {
		return j, err
	}
	names := rows.Names{}
	j.add(t, "", names, nil)
	for i := range s.friends {
		if err := s.friend(ctx, j, &s.friends[i], main, f, input, names); err != nil {
			return j, err
		}
	}
	return j, nil
}

// friend joins one more table.
func (s *source) friend(ctx context.Context, j *joined, fr *friend, main *rfile.File, f *rows.Watched, input string, names rows.Names) error {
	where := main
	if fr.file != "" {
		g, err := rows.OpenFile(ctx, s.fs, fr.path(input), -1)
		if err != nil {
			return err
		}
		if j.friends == nil {
			j.friends = map[int]string{}
		}
		j.friends[len(j.tables)] = fr.path(input)
		f = rows.Watch(g)
		j.files = append(j.files, f)
		if where, err = rfile.Open(f, f.Size(), path.Base(fr.path(input))); err != nil {
			return err
		}
	}
	t, err := openTable(where, f, fr.object)
	if err != nil {
		return err
	}
	if s.on != nil {
		k, err := s.keyed(j.tables[0], t, fr, where)
		if err != nil {
			return shardify.Annotate(err, "open", main.Name(), "")
		}
		j.add(t, path.Base(t.path()), names, k)
		return nil
	}
	if n := j.tables[0].entries(); t.entries() != n {
		return shardify.Annotate(shardify.Mismatch("it has %d entries, its friend %s has %d", n, t.path(), t.entries()), "open", main.Name(), j.tables[0].path())
	}
	j.add(t, path.Base(t.path()), names, nil)
	return nil
}

// keyed joins a friend by key.
func (s *source) keyed(main, t table, fr *friend, f *rfile.File) (*keyed, error) {
	k := &keyed{fill: s.opts["unmatched"] == "fill", repeat: s.opts["repeated"] == "allow", table: t, path: f.Name() + ":" + t.path()}
	for _, p := range s.on {
		a, err := keyField(main, p.main)
		if err != nil {
			return nil, err
		}
		b, err := keyField(t, p.friend)
		if err != nil {
			return nil, shardify.Annotate(err, "open", f.Name(), "")
		}
		if slices.Contains(k.main, a) || slices.Contains(k.friend, b) {
			return nil, shardify.Mismatch("--on names %s twice", p.main)
		}
		k.names, k.main, k.friend = append(k.names, p.main), append(k.main, a), append(k.friend, b)
	}
	k.index = s.indexOf(fr)
	return k, nil
}

// indexOf is the index of a friend: a friend that all inputs have is indexed once.
func (s *source) indexOf(fr *friend) *keyIndex {
	if fr.file == "" || strings.Contains(fr.file, "{}") {
		return &keyIndex{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexes[*fr] == nil {
		if s.indexes == nil {
			s.indexes = map[friend]*keyIndex{}
		}
		s.indexes[*fr] = &keyIndex{}
	}
	return s.indexes[*fr]
}

// add appends the fields of a table. A name that is taken gets the table's before
// it, as ROOT has it.
func (j *joined) add(t table, prefix string, names rows.Names, k *keyed) {
	rename := map[string]string{}
	for i, f := range t.fields() {
		if k != nil && slices.Contains(k.friend, i) {
			continue // the main table has it
		}
		if k != nil {
			f.Nullable = f.Nullable || k.fill
			f.bytes = int64(float64(f.bytes) / float64(max(t.entries(), 1)) * float64(j.tables[0].entries()))
		}
		own := f.Name
		if names[own] {
			own = prefix + "." + own
		}
		own = names.Unique(own)
		if own != f.Name {
			f.aliases = append([]string{}, f.aliases...)
			rename[f.Name] = own
		}
		f.Field.Name = own
		if to, ok := rename[f.of]; ok {
			f.of = to
		}
		if prefix != "" {
			f.aliases = append(f.aliases, prefix+"."+t.fields()[i].Name)
		}
		j.list = append(j.list, joinedField{f, len(j.tables), i})
	}
	j.renameCounters(len(j.tables), prefix, rename, names)
	j.cannot = append(j.cannot, t.left()...)
	j.tables, j.keyed = append(j.tables, t), append(j.keyed, k)
}

// renameCounters keeps the counters of one table apart from those of others.
func (j *joined) renameCounters(table int, prefix string, rename map[string]string, names rows.Names) {
	for i := range j.list {
		f := &j.list[i]
		if f.table != table || f.Counter == "" {
			continue
		}
		to, ok := rename[f.Counter]
		if !ok {
			to = f.Counter
			if prefix != "" && names[to] && !j.has(table, to) {
				to = names.Unique(prefix + "." + to)
			}
			rename[f.Counter] = to
			names[to] = true
		}
		f.Counter = to
	}
}

// has reports whether a table delivers a field of this name.
func (j *joined) has(table int, name string) bool {
	for i := range j.list {
		if j.list[i].table == table && j.list[i].Name == name {
			return true
		}
	}
	return false
}

// choose finds the wanted fields, and those of them that are damaged. What was found to
// be unreadable is left out; asked for by its name it is an error.
func (j *joined) choose(want *columns.Wanted, bad map[string]string) (left []format.Leftover, err error) {
	refuse := func(name, reason string) error {
		return &shardify.Error{Op: "open", Field: name, Sample: -1, Offset: -1, Err: fmt.Errorf("%s: %w", reason, shardify.ErrUnsupported)}
	}
	j.wanted, j.damaged = j.wanted[:0], nil
	names := make(map[string]bool, len(j.list))
	for i := range j.list {
		names[j.list[i].Name] = true
	}
	ways := func(name string, aliases []string) []string {
		all := append(make([]string, 0, 4), name)
		for _, a := range aliases {
			if !names[a] { // else it means that field
				all = append(all, a)
			}
		}
		return all
	}
	for _, c := range j.cannot {
		hit, exact := want.Match(ways(c.name, c.aliases)...)
		if c.list {
			hit = !want.Literal() && !want.Excluded(c.name)
		}
		switch {
		case hit && c.damage != nil:
			j.damaged = append(j.damaged, survey.Damage{Object: c.name, Err: c.damage})
		case exact:
			return nil, refuse(c.name, c.reason)
		case hit:
			left = append(left, format.Leftover{Name: c.name, Reason: c.reason, Unreadable: true})
		}
	}
	for i := range j.list {
		f := &j.list[i]
		names := ways(f.Name, f.aliases)
		if f.of != "" {
			names = append(names, f.of)
		}
		hit, exact := want.Match(names...)
		if !hit {
			continue
		}
		if reason, ok := bad[f.Name]; ok {
			if exact {
				return nil, refuse(f.Name, reason)
			}
			left = append(left, format.Leftover{Name: f.Name, Reason: reason, Unreadable: true})
			continue
		}
		j.wanted = append(j.wanted, i)
	}
	return left, nil
}

// try looks at the bytes of wanted fields.
func (j *joined) try() map[string]string {
	bad := map[string]string{}
	for t := range j.tables {
		var want, at []int
		for _, i := range j.wanted {
			if j.list[i].table == t {
				want, at = append(want, j.list[i].index), append(at, i)
			}
		}
		for k, reason := range j.tables[t].try(want) {
			for n, i := range want {
				if i == k {
					bad[j.list[at[n]].Name] = reason
				}
			}
		}
	}
	return bad
}

// equalLists returns, by place in j.list, which wanted fields have lists of equal lengths.
func (j *joined) equalLists() map[int]string {
	says := map[int]string{}
	for t := range j.tables {
		var want []int
		at := map[int]int{}
		for _, i := range j.wanted {
			if j.list[i].table == t {
				want = append(want, j.list[i].index)
				at[j.list[i].index] = i
			}
		}
		for k, s := range j.tables[t].equalLists(want) {
			says[at[k]] = fmt.Sprintf("%d %s", t, s)
		}
	}
	return says
}

// borders are where all tables may be cut.
func (j *joined) borders() set.Borders {
	var all set.Borders
	for t := range j.tables {
		var want []int
		for _, i := range j.wanted {
			if j.list[i].table == t {
				want = append(want, j.list[i].index)
			}
		}
		if t > 0 && (len(want) == 0 || j.keyed[t] != nil) {
			continue
		}
		b := j.tables[t].borders(want)
		if t == 0 {
			all = b
			continue
		}
		all.Inside = min(all.Inside, b.Inside)
		n := j.tables[0].entries()
		all.At = intersect(expand(all, n), expand(b, n))
		all.Every = 0
		if len(all.At) == 0 {
			all.Every = max(n, 1)
		}
	}
	return all
}

// expand lists borders that are given as a distance. Tables without baskets have borders
// everywhere; then one is enough.
func expand(b set.Borders, n int64) []int64 {
	if b.Every == 0 {
		return b.At
	}
	var at []int64
	if b.Every < n && b.Every > 1 {
		for v := b.Every; v < n; v += b.Every {
			at = append(at, v)
		}
	}
	return at
}

// joinedReader reads an input's fields: for each table one reader, and which columns
// of the batch it fills.
type joinedReader struct {
	j       *joined
	readers []tableReader
	into    [][]int
	cols    []*shardify.Column
}

// reader reads the wanted fields; take[i] is the place in j.wanted of column i of
// the batch, or -1.
func (j *joined) reader(take []int) (*joinedReader, error) {
	r := &joinedReader{j: j, readers: make([]tableReader, len(j.tables)), into: make([][]int, len(j.tables))}
	want := make([][]int, len(j.tables))
	for col, w := range take {
		if w < 0 {
			continue
		}
		if w >= len(j.wanted) {
			return nil, errState
		}
		f := &j.list[j.wanted[w]]
		want[f.table] = append(want[f.table], f.index)
		r.into[f.table] = append(r.into[f.table], col)
	}
	for t := range j.tables {
		switch {
		case len(want[t]) == 0:
		case j.keyed[t] != nil:
			r.readers[t] = newKeyedReader(j.keyed[t], j.tables[0], want[t])
		default:
			r.readers[t] = j.tables[t].reader(want[t])
		}
	}
	return r, nil
}

func (r *joinedReader) close() {
	for _, t := range r.readers {
		if t != nil {
			t.close()
		}
	}
}

func (r *joinedReader) read(ctx context.Context, lo, hi int64, mem *shardify.Arena, b *shardify.Batch) error {
	for t, tr := range r.readers {
		if tr == nil {
			continue
		}
		r.cols = r.cols[:0]
		for _, col := range r.into[t] {
			r.cols = append(r.cols, &b.Columns[col])
		}
		if err := tr.read(ctx, lo, hi, mem, r.cols); err != nil {
			return shardify.Annotate(err, "read", r.j.friends[t], r.j.tables[t].path())
		}
	}
	return nil
}
