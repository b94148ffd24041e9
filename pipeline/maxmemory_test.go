package pipeline

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// zeros writes an array of one row of so many zero bytes as a member of a zip.
func zeros(t *testing.T, path string, method uint16, size int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "x.npy", Method: method})
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("%-117s\n", fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (1, %d), }", size))
	io.WriteString(w, "\x93NUMPY\x01\x00"+string([]byte{byte(len(head)), 0})+head)
	for p := make([]byte, 1<<20); size > 0; size -= len(p) {
		if _, err := w.Write(p[:min(size, len(p))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestASampleBeyondTheMemory ends with an error that names the memory it needs, before that
// is taken, unless it passes in pieces; up to twice the memory one is held alone.
func TestASampleBeyondTheMemory(t *testing.T) {
	const mib = 1 << 20
	if testing.Short() {
		t.Skip("samples of 96 MiB")
	}
	dir := t.TempDir()
	zeros(t, filepath.Join(dir, "packed.npz"), zip.Deflate, 96*mib)
	zeros(t, filepath.Join(dir, "stored.npz"), zip.Store, 96*mib)
	for name, text := range map[string]string{ // a chunk that is not there is zeros
		"a.zarr/zarr.json":   `{"zarr_format": 3, "node_type": "group", "attributes": {}}`,
		"a.zarr/x/zarr.json": `{"zarr_format": 3, "node_type": "array", "attributes": {}, "shape": [1, 100663296], "data_type": "uint8", "fill_value": 0, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1048576]}}, "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]}`,
		"files/a.bin":        "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, "files/a.bin"), 96*mib); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		input, format string
		memory        int64
		ok            bool
	}{
		{"packed.npz", "mmap", 32, false},
		{"packed.npz", "wds", 32, false},
		{"packed.npz", "mmap", 48, true},
		{"stored.npz", "mmap", 32, true}, // in pieces
		{"stored.npz", "wds", 32, false},
		{"a.zarr", "mmap", 32, false},
		{"a.zarr", "mmap", 64, true},
		{"files", "wds", 32, false},
		{"files", "mds", 49, true},
	} {
		t.Run(fmt.Sprint(c.input, c.format, c.memory), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			run := func(memory int64) (int64, error) {
				s := Settings{Inputs: []string{filepath.Join(dir, c.input)}, Output: out, Format: c.format, Memory: memory, Jobs: 1, Sync: "none"}
				if c.input == "a.zarr" {
					s.Options = map[string]string{"missing-chunks": "fill"}
				}
				p, err := Prepare(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				_, err = p.Job.Convert(t.Context())
				return p.Job.Pool.Peak(), err
			}
			peak, err := run(c.memory * mib)
			if c.ok {
				if err != nil || peak > 2*c.memory*mib+c.memory*mib/2 {
					t.Errorf("%v, %s at most", err, shardify.FormatSize(peak))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "sample 0: a sample of 96") || peak > c.memory*mib {
				t.Fatalf("%v, %s at most", err, shardify.FormatSize(peak))
			}
			var cured *format.Cured
			var enough int64
			if !errors.As(err, &cured) {
				t.Fatalf("%v names no settings", err)
			}
			if _, err := fmt.Sscanf(cured.Ways[0].Options["memory"], "%dMiB", &enough); err != nil {
				t.Fatalf("ways %+v", cured.Ways)
			}
			if _, err := run(enough * mib); err != nil {
				t.Errorf("with the memory of the hint: %v", err)
			}
		})
	}
}
