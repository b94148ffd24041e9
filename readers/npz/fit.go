package npz

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/npz/internal/members"
)

// fit compares a file with the reference and keeps where its columns are.
// extra are keys that the reference does not have.
func (b *groupBuilder) fit(l *members.Listing, s *surveyed, extra []string) error {
	at := make(map[string]*members.Array, len(l.Arrays))
	for i := range l.Arrays {
		at[l.Arrays[i].Key] = &l.Arrays[i]
	}
	s.samples = -1
	if b.choose.byFile {
		s.samples = 1
	}
	var first string
	var data int64
	empty := b.empty(at)
	for i := range b.cols {
		c := &b.cols[i]
		a := at[c.key]
		if a == nil {
			return shardify.Mismatch("there is no %s, as there is in %s; it has %s", c.key, b.refName, l.Shapes())
		}
		if errors.Is(a.Err, shardify.ErrUnsupported) {
			return shardify.Amend(a.Err, func(e *shardify.Error) {
				e.Err = fmt.Errorf("%w; it is read in %s; --columns '!%s' leaves it out", e.Err, b.refName, c.key)
			})
		}
		if a.Err != nil {
			return a.Err
		}
		if err := b.agree(c, a); err != nil && (!empty || c.single) {
			return err
		}
		if !b.choose.byFile && !c.single {
			if s.samples >= 0 && a.Shape[0] != s.samples {
				return shardify.Mismatch("%s has %d samples, %s has %d; if one is not a column, name the others with --columns", first, s.samples, a.Key, a.Shape[0])
			}
			s.samples, first = a.Shape[0], a.Key
		}
		data = max(data, a.Data)
		p := b.part(a)
		if empty { // its shape may be another
			p.flags &^= inFortran
		}
		s.parts = append(s.parts, p)
		if b.choose.byFile {
			s.dims = append(s.dims, a.Shape...)
		}
	}
	if data == 0 && s.samples > npy.MaxEmpty {
		return shardify.Unsupported("%d samples of no bytes", s.samples)
	}
	return b.fitRest(at, s, extra, empty)
}

// fitRest looks at what a file has beside the columns. What the reference cannot deliver, and what it does not have,
// must not be readable here.
func (b *groupBuilder) fitRest(at map[string]*members.Array, s *surveyed, extra []string, empty bool) error {
	for key, why := range b.unread {
		if a := at[key]; a != nil && a.Err == nil {
			return shardify.Unsupported("%s is read here and cannot be in %s: %s; --columns '!%s' leaves it out", key, b.refName, format.Reason(why), key)
		} else if a != nil && errors.Is(a.Err, shardify.ErrCorrupt) {
			return a.Err
		}
	}
	for _, key := range extra {
		a := at[key]
		if a != nil && (errors.Is(a.Err, shardify.ErrCorrupt) || errors.Is(a.Err, shardify.ErrSchema)) {
			return a.Err
		}
		if a != nil && a.Err != nil && !errors.Is(a.Err, members.ErrNoArray) {
			b.note(key, format.Reason(a.Err)+", in "+b.table.Name(int(s.input)))
		}
		if a != nil && a.Err == nil && !empty {
			return shardify.Mismatch("there is %s %s, as there is not in %s; name the wanted ones with --columns", key, a.String(), b.refName)
		}
	}
	return nil
}

// note leaves out a member that only some files have, in a form that is not read.
func (b *groupBuilder) note(key, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.left, func(l format.Leftover) bool { return l.Name == key }) {
		b.left = append(b.left, format.Leftover{Name: key, Reason: why, Unreadable: true})
	}
}

// empty reports whether a file has no samples, and so does not decide what the columns are.
func (b *groupBuilder) empty(at map[string]*members.Array) bool {
	for i := range b.cols {
		if a := at[b.cols[i].key]; !b.cols[i].single && (a == nil || a.Err != nil || len(a.Shape) == 0 || a.Shape[0] > 0) {
			return false
		}
	}
	return !b.choose.byFile && b.ref.HasData()
}

// agree compares an array with the reference's. Types are compared when those of all
// files are known.
func (b *groupBuilder) agree(c *column, a *members.Array) error {
	k := slices.IndexFunc(b.ref.Arrays, func(r members.Array) bool { return r.Key == c.key && r.Err == nil })
	ref := &b.ref.Arrays[k]
	same := a.Item.SameFields(&ref.Item) && len(a.Shape) == len(ref.Shape)
	if same && (b.choose.byFile || slices.Equal(a.Inner(), ref.Inner())) {
		return nil
	}
	hint := "; save it alike in all files, convert files of one kind by themselves, or leave it out with --columns"
	if b.ref.NpyFile {
		hint = "; files with columns of the same samples are joined by --zip A B"
	}
	if !b.choose.byFile && len(a.Shape) == len(ref.Shape) && a.Item.Text == ref.Item.Text {
		hint = "; if each file is one sample, say --sample file"
	}
	return shardify.Mismatch("%s is %s, in %s it is %s%s", a.Key, a.String(), b.refName, ref.String(), hint)
}

// part keeps what a reader must know of an array.
func (b *groupBuilder) part(a *members.Array) part {
	p := part{off: a.Off, packed: a.Packed, crc: a.Crc, headSum: a.HeadSum, head: uint32(a.Bytes), method: uint8(a.Method)}
	if a.Fortran {
		p.flags |= inFortran
	}
	if a.Checked {
		p.flags |= hasSum
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.types[a.Item.Text]
	if !ok {
		t = uint32(len(b.list))
		b.types[a.Item.Text] = t
		b.list = append(b.list, a.Item)
	}
	p.typ = t
	return p
}

// findRagged marks the columns whose shapes differ from file to file and drops
// the shapes of the others.
func (b *groupBuilder) findRagged(all []surveyed) {
	if !b.choose.byFile {
		return
	}
	for i := range all {
		at := 0
		if all[i].foreign || all[i].skipped != nil {
			continue
		}
		for j := range b.cols {
			c := &b.cols[j]
			d := all[i].dims[at : at+len(c.inner)]
			at += len(c.inner)
			c.ragged = c.ragged || !slices.Equal(d, c.inner)
		}
	}
	for i := range all {
		at := 0
		keep := all[i].dims[:0]
		for j := range b.cols {
			c := &b.cols[j]
			if len(all[i].dims) == 0 {
				break
			}
			if c.ragged {
				keep = append(keep, all[i].dims[at:at+len(c.inner)]...)
			}
			at += len(c.inner)
		}
		all[i].dims = keep
	}
}
