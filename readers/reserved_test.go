package readers_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
)

func openReserved(t *testing.T, name string, columns ...string) (*readers.Opened, error) {
	t.Helper()
	input := filepath.Join("testdata", "reserved", name)
	f, _, err := readers.Choose(context.Background(), nil, "", []string{input})
	if err != nil {
		t.Fatal(err)
	}
	return readers.Open(context.Background(), f, readers.Request{Inputs: []string{input}, Columns: columns, Jobs: 1})
}

// TestReservedNamesBecomeOthers: a # in a name costs no field, in no format, and is said once. The
// field is wanted by both names.
func TestReservedNamesBecomeOthers(t *testing.T) {
	for _, name := range []string{"a.h5", "a.nc", "a.npz", "a.zarr", "a.csv", "a.jsonl", "a.parquet", "a.feather", "a.db", "a.tfrecord", "a.mat", "a.fits"} {
		for _, columns := range [][]string{nil, {"ccd#1"}, {"ccd_1"}} {
			o, err := openReserved(t, name, columns...)
			if err != nil {
				t.Errorf("%s %v: %v", name, columns, err)
				continue
			}
			if shardify.FieldIndex(o.Source.Schema(), "ccd_1") < 0 {
				t.Errorf("%s %v: no field ccd_1", name, columns)
			}
			notes := strings.Join(o.Source.(format.Noter).Notes(), "\n")
			if strings.Count(notes, "ccd#1 is named ccd_1") != 1 {
				t.Errorf("%s %v: notes %q", name, columns, notes)
			}
			o.Source.Close()
		}
	}
	_, err := openReserved(t, "two.h5")
	if d := (*format.Ambiguous)(nil); !errors.As(err, &d) || !strings.Contains(err.Error(), "more than one field is named ccd_1") {
		t.Fatalf("a collision: %v", err)
	} else if o, err := openReserved(t, "two.h5", d.Ways[0].Columns...); err != nil {
		t.Errorf("%v: %v", d.Ways[0].Columns, err)
	} else {
		o.Source.Close()
	}
}
