package endtoend

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// npzOf writes one stored array of n float32 values, shape (1, n).
func npzOf(t *testing.T, path string, n int) {
	t.Helper()
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (1, %d), }", n)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "x.npy", Method: zip.Store})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "\x93NUMPY\x01\x00\x76\x00"+head)
	data := make([]byte, 4*n)
	for i := range data {
		data[i] = byte(i * 31 >> 3)
	}
	w.Write(data)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestEndToEndLargeSamplesPassInPieces: a sample of more than 8 MiB goes from file
// to shard without being held. The bytes are those of a conversion that holds it
// (one that may skip), and a damaged member is still found.
func TestEndToEndLargeSamplesPassInPieces(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o777); err != nil {
		t.Fatal(err)
	}
	npzOf(t, filepath.Join(in, "a.npz"), 3<<20)
	npzOf(t, filepath.Join(in, "b.npz"), 3<<20+77)
	flags := []string{"--sample", "file", "--shard-samples", "1", "--format", "mmap", "--quiet", "--sync", "none"}
	passed, held := filepath.Join(dir, "passed"), filepath.Join(dir, "held")
	run(t, append([]string{"shardify", "convert", in, "-o", passed}, flags...)...)
	run(t, append([]string{"shardify", "convert", in, "-o", held, "--on-error", "skip"}, flags...)...)
	run(t, "verify", passed, "--against", in)
	a, b := published(t, passed), published(t, held)
	shards := 0
	for n := range a {
		if strings.HasSuffix(n, ".safetensors") {
			if shards++; a[n] != b[n] {
				t.Errorf("%s differs", n)
			}
		}
	}
	if shards != 2 {
		t.Errorf("%d shards", shards)
	}
	p := filepath.Join(in, "b.npz")
	raw, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 4
	if err := os.WriteFile(p, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bin+"shardify", append([]string{"convert", in, "-o", filepath.Join(dir, "bad")}, flags...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "crc32") || !strings.Contains(string(out), "b.npz") {
		t.Errorf("a flipped bit: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "bad", "shard-000001.safetensors")); err == nil {
		t.Error("the damaged sample was published")
	}
}
