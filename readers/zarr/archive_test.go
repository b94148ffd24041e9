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
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
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
	race.Sequential(t)
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

// TestChunksThatClaimMore: no memory is taken for a chunk whose stored bytes cannot decode to it.
func TestChunksThatClaimMore(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	for _, x := range []madeArray{{}, {gzip: true}, {zstd: true}, {texts: []string{"a", "b", "c", "d"}}} {
		for _, version := range []int{2, 3} {
			if x.zstd && version == 2 {
				continue
			}
			x.dtype, x.size, x.shape, x.chunk, x.data = "<f4", 4, []int{4}, []int{4}, randomBytes(r, 16)
			dir := writeStore(t, version, map[string]*madeArray{"x": &x})
			all := filesOf(t, dir)
			for name, old := range map[string]string{"x/.zarray": `"chunks":[4]`, "x/zarr.json": `"chunk_shape":[4]`} {
				if all[name] != nil {
					was := len(all[name])
					all[name] = bytes.ReplaceAll(all[name], []byte(old), []byte(old[:len(old)-2]+"40000000]"))
					if len(all[name]) == was {
						t.Fatalf("%s: %s", name, all[name])
					}
					writeFile(t, filepath.Join(dir, name), all[name])
				}
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			src, err := openStores(t, nil, nil, dir)
			if err == nil {
				_, err = readertest.Load(src, 1<<40)
				src.Close()
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, shardify.ErrCorrupt) || n > 64<<20 {
				t.Errorf("%+v of format %d: %d bytes: %v", x, version, n, err)
			}
		}
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

// TestArchiveThatBeginsBeforeItsFile: a directory that claims to be further on moves all members
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

// TestNamesInArchives: a name of the directory that is damaged is found, whatever it is then: that
// of another chunk, of a chunk that is not there, of a stray, or of nothing in the store.
func TestNamesInArchives(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for _, version := range []int{2, 3} {
		all := filesOf(t, writeStore(t, version, map[string]*madeArray{
			"g/x": {dtype: "<i4", size: 4, shape: []int{12, 2}, chunk: []int{3, 2}, data: randomBytes(r, 96), skip: map[string]bool{"2.0": true, "c/2/0": true}},
			"y":   {dtype: "<i4", size: 4, shape: []int{12}, chunk: []int{12}, data: randomBytes(r, 48), attrs: map[string]any{"units": "K"}},
		}))
		if version == 2 {
			all["g/.zgroup"] = []byte(`{"zarr_format":2}`)
		}
		p := all.archived()
		load := func(p []byte, option string) (string, error) {
			name := filepath.Join(t.TempDir(), "made.zarr.zip")
			writeFile(t, name, p)
			src, err := openStores(t, format.Options{"missing-chunks": option}, nil, name)
			if err != nil {
				return "", err
			}
			defer src.Close()
			_, err = readertest.Load(src, 1<<40)
			return notesOf(src), err
		}
		if told, err := load(p, "auto"); err != nil || !strings.Contains(told, "1 of 4 chunks") {
			t.Fatal(told, err)
		}
		n := 0
		for at := int(binary.LittleEndian.Uint32(p[len(p)-6:])); string(p[at:at+4]) == "PK\x01\x02"; {
			name := int(binary.LittleEndian.Uint16(p[at+28:]))
			for i := at + 46; i < at+46+name; i++ {
				for _, bit := range []byte{1, 2, 8, 128} {
					for _, option := range []string{"auto", "fill"} {
						p[i] ^= bit
						if told, err := load(p, option); err == nil {
							t.Errorf("the name %q passes: %s", p[at+46:at+46+name], told)
						}
						p[i] ^= bit
						n++
					}
				}
			}
			at += 46 + name + int(binary.LittleEndian.Uint16(p[at+30:])) + int(binary.LittleEndian.Uint16(p[at+32:]))
		}
		t.Logf("%d names", n)
		all["x/c/9"], all["g/x/9.0"] = []byte{1}, []byte{1}
		if _, err := load(all.archived(), "auto"); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "--missing-chunks fill") {
			t.Errorf("files of no array: %v", err)
		}
		if told, err := load(all.archived(), "fill"); err != nil || !strings.Contains(told, "x/c/9: belongs to no array") {
			t.Errorf("files of no array, which are left out: %s, %v", told, err)
		}
		delete(all, "x/c/9")
		delete(all, "g/x/9.0")
		below := files{"__MACOSX/made.zarr/._zarr.json": {1}, "made.zarr/.DS_Store": {1}, ".DS_Store": {1}, "made.zarr/g/README.md": {1}}
		for name, p := range all {
			below["made.zarr/"+name] = p
		}
		if told, err := load(below.archived(), "auto"); err != nil || !strings.Contains(told, "*.md: no part of the store") || !strings.Contains(told, "__MACOSX/*") || !strings.Contains(told, ".DS_Store") {
			t.Errorf("strays: %s, %v", told, err)
		}
	}
}
