package parquet

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/readers/readertest"
)

// The first values of row groups show as much of EXIF tags as samples that are read: of four
// groups four of each.
func TestTagsOfImagesAreSeenInFirstValues(t *testing.T) {
	for name, want := range map[string]string{
		"turned.parquet": "4 of 16 images", "turned-plain.parquet": "4 of 16 images", "images.parquet": "",
	} {
		src, err := openFiles(nil, nil, testdata(name))
		if err != nil {
			t.Fatal(err)
		}
		read := strings.Join(filekind.Look(context.Background(), src, 16, false, func(*shardify.Batch, *shardify.Column, int) {}), "")
		got := strings.Join(filekind.Look(context.Background(), src, 16, false, nil), "")
		if (got == "") != (want == "") || (read == "") != (want == "") || len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("%s: %q, want %q; by reading %q", name, got, want, read)
		}
		src.Close()
	}
}

// What Preview shows are values of the column, whatever they are packed in.
func TestPreviewShowsValues(t *testing.T) {
	files, _ := filepath.Glob(testdata("*.parquet"))
	shown := 0
	for _, name := range files {
		src, err := openFiles(format.Options{"null-items": "fill"}, nil, name)
		if err != nil {
			continue // a file of other tests
		}
		values := map[string][]byte{}
		readertest.Each(t, src, readertest.Spans(t, src, 1<<30), func(b *shardify.Batch) {
			for i := range b.Columns {
				values[b.Columns[i].Name] = append(values[b.Columns[i].Name], b.Columns[i].Data...)
			}
		})
		for _, f := range src.Schema() {
			if f.Levels != 1 || f.Media == "" {
				continue
			}
			src.(format.Previewer).Preview(context.Background(), f.Name, 8, func(v []byte) {
				if shown++; !bytes.Contains(values[f.Name], v) {
					t.Errorf("%s, %s: %q is no value", name, f.Name, v)
				}
			})
		}
		src.Close()
	}
	if shown < 30 {
		t.Errorf("%d values shown", shown)
	}
}
