package npz

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
)

// fit compares a file with the reference and keeps where its columns stand.
// extra are keys that the reference does not have.
func (b *groupBuilder) fit(l *listing, s *surveyed, extra []string) error {
	at := make(map[string]*array, len(l.arrays))
	for i := range l.arrays {
		at[l.arrays[i].key] = &l.arrays[i]
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
			return shardify.Mismatch("there is no %s, as there is in %s; it has %s", c.key, b.refName, l.shapes())
		}
		if errors.Is(a.err, shardify.ErrUnsupported) {
			return shardify.Amend(a.err, func(e *shardify.Error) {
				e.Err = fmt.Errorf("%w; it is read in %s; --columns '!%s' leaves it out", e.Err, b.refName, c.key)
			})
		}
		if a.err != nil {
			return a.err
		}
		if err := b.agree(c, a); err != nil && (!empty || c.single) {
			return err
		}
		if !b.choose.byFile && !c.single {
			if s.samples >= 0 && a.shape[0] != s.samples {
				return shardify.Mismatch("%s has %d samples, %s has %d; if one is no column, name the others with --columns", first, s.samples, a.key, a.shape[0])
			}
			s.samples, first = a.shape[0], a.key
		}
		data = max(data, a.data)
		p := b.part(a)
		if empty { // its shape may be another
			p.flags &^= inFortran
		}
		s.parts = append(s.parts, p)
		if b.choose.byFile {
			s.dims = append(s.dims, a.shape...)
		}
	}
	if data == 0 && s.samples > maxEmpty {
		return shardify.Unsupported("%d samples of no bytes", s.samples)
	}
	for key, why := range b.unread {
		if a := at[key]; a != nil && a.err == nil {
			return shardify.Unsupported("%s is read here and cannot be in %s: %s; --columns '!%s' leaves it out", key, b.refName, shardify.Reason(why), key)
		} else if a != nil && errors.Is(a.err, shardify.ErrCorrupt) {
			return a.err
		}
	}
	for _, key := range extra {
		a := at[key]
		if a != nil && (errors.Is(a.err, shardify.ErrCorrupt) || errors.Is(a.err, shardify.ErrSchema)) {
			return a.err
		}
		if a != nil && a.err != nil && !errors.Is(a.err, errNoArray) {
			b.note(key, shardify.Reason(a.err)+", in "+b.table.Name(int(s.input)))
		}
		if a == nil || a.err != nil || empty {
			continue
		}
		return shardify.Mismatch("there is %s %s, as there is not in %s; name the wanted ones with --columns", key, a.String(), b.refName)
	}
	return nil
}

// note leaves out a member that only some files have, in a form that is not read.
func (b *groupBuilder) note(key, why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.ContainsFunc(b.left, func(l shardify.Leftover) bool { return l.Name == key }) {
		b.left = append(b.left, shardify.Leftover{Name: key, Reason: why, Unreadable: true})
	}
}

// empty tells whether a file has no samples, and so no say in what the columns are.
func (b *groupBuilder) empty(at map[string]*array) bool {
	for i := range b.cols {
		a := at[b.cols[i].key]
		if b.cols[i].single {
			continue
		}
		if a == nil || a.err != nil || len(a.shape) == 0 || a.shape[0] > 0 {
			return false
		}
	}
	return !b.choose.byFile && b.ref.hasData()
}

// agree compares an array with the reference's. Types are compared when those of all
// files are known.
func (b *groupBuilder) agree(c *column, a *array) error {
	k := slices.IndexFunc(b.ref.arrays, func(r array) bool { return r.key == c.key && r.err == nil })
	ref := &b.ref.arrays[k]
	same := a.item.alike(&ref.item) && len(a.shape) == len(ref.shape)
	if same && (b.choose.byFile || slices.Equal(a.inner(), ref.inner())) {
		return nil
	}
	hint := "; save it alike in all files, convert files of one kind by themselves, or leave it out with --columns"
	if b.ref.npyFile {
		hint = "; files with columns of the same samples are joined by --zip A B"
	}
	if !b.choose.byFile && len(a.shape) == len(ref.shape) && a.item.text == ref.item.text {
		hint = "; if each file is one sample, say --sample file"
	}
	return shardify.Mismatch("%s is %s, in %s it is %s%s", a.key, a.String(), b.refName, ref.String(), hint)
}

// part keeps what a reader must know of an array.
func (b *groupBuilder) part(a *array) part {
	p := part{off: a.off, packed: a.packed, crc: a.crc, headSum: a.headSum, head: uint32(a.bytes), method: uint8(a.method)}
	if a.fortran {
		p.flags |= inFortran
	}
	if a.checked {
		p.flags |= hasSum
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.types[a.item.text]
	if !ok {
		t = uint32(len(b.list))
		b.types[a.item.text] = t
		b.list = append(b.list, a.item)
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
