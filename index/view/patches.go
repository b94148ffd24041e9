package view

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

// PatchedBy is the field that says where each row's patch begins, of sets whose rows are patches;
// nil of others.
func PatchedBy(m *index.Manifest) (*shardify.Field, error) {
	for _, p := range m.AsParts() {
		if !slices.ContainsFunc(p.Operations, func(o index.Operation) bool { return o.Op == format.PatchOp }) {
			return nil, nil
		}
	}
	i := shardify.FieldIndex(m.Schema, format.PatchField)
	if i < 0 || m.Schema[i].Levels > 0 || m.Schema[i].Nullable {
		return nil, shardify.Mismatch("windows of patches: the field %s, which says where each patch begins, is gone", format.PatchField)
	}
	return &m.Schema[i], nil
}

// Patches is how many rows that follow each other are the patches of one, by the places where
// each of n rows begins.
func Patches(places []byte, n int64) (int64, error) {
	if n == 0 {
		return 1, nil
	}
	size := int64(len(places)) / n
	each := int64(1)
	for each < n && !bytes.Equal(places[each*size:(each+1)*size], places[:size]) {
		each++
	}
	if n%each != 0 || !bytes.Equal(places[each*size:], places[:(n-each)*size]) {
		return 0, shardify.Mismatch("windows of patches: not all patches of each row are there, in one order")
	}
	return each, nil
}

// ofPatches is build of rows that are patches: the windows of the rows that they were cut from,
// for each patch.
func (s *Spec) ofPatches(r Rows) (*index.View, Found, error) {
	each := r.Each
	if r.N%each != 0 || slices.ContainsFunc(r.Borders, func(b int64) bool { return b%each != 0 }) {
		return nil, Found{}, fmt.Errorf("%d rows are not all patches of rows, %d each", r.N, each)
	}
	whole := Rows{N: r.N / each, Nanos: r.Nanos}
	for _, b := range r.Borders {
		whole.Borders = append(whole.Borders, b/each)
	}
	for i, v := range r.Values {
		if at := int64(i) / each; int64(i)%each == 0 {
			whole.Values = append(whole.Values, v)
		} else if whole.Values[at] != v {
			return nil, Found{}, fmt.Errorf("the patches of one row have several values of %s", s.Axis)
		}
	}
	v, f, err := s.build(whole)
	if err != nil {
		return nil, f, err
	}
	f.Windows, f.ByPosition = f.Windows*each, f.ByPosition*each
	for _, list := range [][]int64{v.In, v.Out} {
		for i := range list {
			list[i] *= each
		}
	}
	var all []index.Anchors
	for _, a := range v.Anchors {
		if a.Step == 1 {
			all = append(all, index.Anchors{Lo: a.Lo * each, Hi: a.Hi * each, Step: 1})
			continue
		}
		for row := a.Lo; row < a.Hi; row += a.Step {
			all = append(all, index.Anchors{Lo: row * each, Hi: (row + 1) * each, Step: 1})
		}
	}
	if v.Anchors = all; all == nil {
		v.Anchors = []index.Anchors{}
	}
	return v, f, nil
}
