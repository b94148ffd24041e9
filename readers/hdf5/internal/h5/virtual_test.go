package h5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
)

// Since 2.0 the library names a file and a data set once, and its own file never.
func TestVirtualMappingsThatShareNames(t *testing.T) {
	data := readTestdata(t, "virtual1.h5")
	m, err := mappingsOf(t, data)
	if err != nil {
		t.Fatal(err)
	}
	const there, far, short, long = "a_file_with_a_long_name.h5", "another_file_with_a_long_name.h5", "y", "data/set/with/a/long/name"
	want := [][2]string{{".", short}, {there, long}, {there, long}, {far, long}, {there, short}, {".", long}}
	if len(m) != len(want) {
		t.Fatalf("%d mappings", len(m))
	}
	for i, w := range want {
		if m[i].File != w[0] || m[i].Dataset != w[1] {
			t.Errorf("mapping %d is of %s in %s, want %s in %s", i, m[i].Dataset, m[i].File, w[1], w[0])
		}
		if !slices.Equal(m[i].Source.Start, []int64{int64(i)}) || !slices.Equal(m[i].Virtual.Start, []int64{int64(3 * i)}) {
			t.Errorf("mapping %d selects from %v to %v", i, m[i].Source.Start, m[i].Virtual.Start)
		}
	}

	// An entry cannot have the name of itself or of a later one.
	at := bytes.Index(data, []byte("GCOL")) + 32
	size := int(binary.LittleEndian.Uint64(data[at-8:]))
	block := data[at : at+size]
	third := bytes.LastIndex(block[:bytes.Index(block, []byte(far))], []byte{3, 1, 0, 0, 0, 0, 0, 0, 0})
	if third < 0 {
		t.Fatal("the third entry does not share its names")
	}
	for _, k := range []byte{2, 3, 200} {
		block[third+1] = k
		binary.LittleEndian.PutUint32(block[size-4:], codecs.Lookup3(block[:size-4]))
		if _, err := mappingsOf(t, data); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("the name of entry %d: %v", k, err)
		}
	}
}

func mappingsOf(t *testing.T, data []byte) ([]dataset.Mapping, error) {
	t.Helper()
	f := openBytes(t, data)
	l, err := f.Lookup("/v")
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.Object(l.Addr, "/v")
	if err != nil {
		t.Fatal(err)
	}
	ds, err := o.Dataset()
	if err != nil {
		t.Fatal(err)
	}
	return ds.Mappings()
}
