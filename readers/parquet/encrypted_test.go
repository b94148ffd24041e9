package parquet

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// TestEncryptedColumnsAreADecision: where no input can deliver a column it is left out, on a
// line of its own; where some can it is an error that says how to leave it out.
func TestEncryptedColumnsAreADecision(t *testing.T) {
	encrypted, plain := testdata("encrypted-column.parquet"), testdata("flat.parquet")
	all, err := openFiles(nil, nil, encrypted, encrypted)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	left := all.(format.Reporter).Leftovers()
	if len(left) != 1 || left[0].Name != "int32" || !left[0].Unreadable || !strings.Contains(left[0].Reason, "encrypted") {
		t.Errorf("left out %+v", left)
	}
	for _, files := range [][]string{{encrypted, plain}, {plain, encrypted}} {
		_, err := openFiles(nil, []string{"int32", "tex*"}, files...)
		if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "encrypted") {
			t.Errorf("by name: %v", err)
		}
		_, err = openFiles(nil, []string{"int32*", "text", "!int32_*"}, files...)
		if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "encrypted") || !strings.Contains(err.Error(), "--columns '!int32'") {
			t.Errorf("in one of two: %v", err)
		}
		src, err := openFiles(nil, []string{"text", "!int32"}, files...)
		if err != nil {
			t.Errorf("without it: %v", err)
			continue
		}
		if s := src.Schema(); len(s) != 1 || s[0].Name != "text" {
			t.Errorf("without it there is %+v", s)
		}
		src.Close()
	}
}
