package zarr

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/readertest"
)

// deflated is the store as a zip file of deflated members.
func (all files) deflated(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, p := range all {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(p)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	name := filepath.Join(t.TempDir(), "made.zip")
	writeFile(t, name, b.Bytes())
	return name
}

// TestDeflatedArchives: their values are those of the folder; a member that claims much more than
// a chunk can take is refused before it is decoded.
func TestDeflatedArchives(t *testing.T) {
	dir := writeStore(t, 3, weather(rand.New(rand.NewPCG(21, 22)), 13, 3))
	load := func(name string) (*readertest.Columns, error) {
		src, err := openStores(t, nil, nil, name)
		if err != nil {
			return nil, err
		}
		defer src.Close()
		return readertest.Load(src, 500)
	}
	want, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := filesOf(t, dir)
	got, err := load(all.deflated(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range want.Order {
		same(t, got.ByName[name], want.ByName[name])
	}
	all["packed/c/1/0/0"] = make([]byte, 96<<20)
	name := all.deflated(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = load(name)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "c/1/0/0") || n > 64<<20 {
		t.Errorf("%d bytes for a chunk of 280: %v", n, err)
	}
}

// TestDeepArchives: folders in folders without end are refused, not visited.
func TestDeepArchives(t *testing.T) {
	all := filesOf(t, writeStore(t, 2, weather(rand.New(rand.NewPCG(23, 24)), 13, 2)))
	all[strings.Repeat("a/", 200)+"x"] = nil
	if _, err := openStores(t, nil, nil, all.deflated(t)); !errors.Is(err, shardify.ErrUnsupported) {
		t.Error(err)
	}
}

// TestArchiveThatBeginsBeforeItsFile: a directory that claims to stand further on moves all members
// to before the first byte.
func TestArchiveThatBeginsBeforeItsFile(t *testing.T) {
	p := filesOf(t, writeStore(t, 3, weather(rand.New(rand.NewPCG(25, 26)), 5, 3))).archived()
	end := p[len(p)-22:]
	binary.LittleEndian.PutUint32(end[16:], binary.LittleEndian.Uint32(end[16:])+7)
	name := filepath.Join(t.TempDir(), "moved.zip")
	writeFile(t, name, p)
	if _, err := walkArchive(name); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error(err)
	}
}
