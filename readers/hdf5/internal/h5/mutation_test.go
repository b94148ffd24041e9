package h5

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// seeds returns small files to damage: those of testdata and, when present, of the
// corpus.
func seeds(t testing.TB, largest int) (files [][]byte, names []string) {
	add := func(path, name string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 100 && len(b) <= largest {
			files, names = append(files, b), append(names, name)
		}
	}
	own, _ := filepath.Glob("testdata/*.h5")
	for _, p := range own {
		add(p, p)
	}
	dir := corpus.Path("hdf5")
	if _, err := os.Stat(dir); err == nil {
		for _, n := range corpusFiles(t, dir) {
			add(filepath.Join(dir, n), n)
		}
	}
	return files, names
}

// TestCrashersGiveErrorsOrValues reads files on which another reader dies.
func TestCrashersGiveErrorsOrValues(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "hdf5"), "crashers", "*"))
	n, refused := 0, 0
	for _, p := range paths {
		if strings.HasSuffix(p, ".json") || strings.HasSuffix(p, ".md") {
			continue
		}
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		n++
		start := time.Now()
		f, err := Open(bytes.NewReader(b), int64(len(b)), filepath.Base(p))
		if err == nil {
			err = walkAll(f, nil)
		}
		if err != nil {
			refused++
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("%s took %v", p, d)
		}
	}
	t.Logf("%d files, %d with an error", n, refused)
}

// TestMutatedFilesNeitherPanicNorHang damages files at random places. Half of them
// are read with checksums switched off, so that the damage gets behind them.
// SHARDIFY_MUTATIONS sets the count, SEED the start.
func TestMutatedFilesNeitherPanicNorHang(t *testing.T) {
	race.Sequential(t)
	count, seed := 2000, uint64(1)
	if s := os.Getenv("SHARDIFY_MUTATIONS"); s != "" {
		count, _ = strconv.Atoi(s)
		seed = uint64(time.Now().UnixNano())
	}
	if s := os.Getenv("SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	files, names := seeds(t, 128<<10)
	if len(files) == 0 {
		t.Skip("no files to damage")
	}
	var opened, failed, tables, same int
	var slowest time.Duration
	var slowName string
	for i := range count {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		k := rng.IntN(len(files))
		b := mutate(rng, files[k])
		what := fmt.Sprintf("SEED=%d mutation %d of %s", seed, i, names[k])
		watchdog := time.AfterFunc(20*time.Second, func() { panic("hang: " + what) })
		start := time.Now()
		r := readMutant(t, b, i%2 == 0, what)
		if d := time.Since(start); d > slowest {
			slowest, slowName = d, what
		}
		watchdog.Stop()
		if r.opened {
			opened++
		}
		if r.failed {
			failed++
		} else {
			same++
		}
		if r.tables > 0 {
			tables++
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d mutations of %d files: %d opened, %d with an error, %d without, %d reached a chunk table", count, len(files), opened, failed, same, tables)
	t.Logf("slowest %v (%s), heap at most %d MiB", slowest, slowName, m.HeapSys>>20)
	if m.HeapSys > 512<<20 {
		t.Errorf("the heap grew to %d MiB", m.HeapSys>>20)
	}
	if slowest > 10*time.Second {
		t.Errorf("%s took %v", slowName, slowest)
	}
}

// openSums opens a file; with noSums its checksums are not compared.
func openSums(b []byte, noSums bool) (*File, error) {
	m := meta.New(bytes.NewReader(b), int64(len(b)), "mutant", 0)
	m.NoSums = noSums
	return open(m)
}

type mutant struct {
	opened, failed bool
	tables         int
}

func readMutant(t *testing.T, b []byte, noSums bool, what string) (m mutant) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 8<<10)
			t.Errorf("%s: panic: %v\n%s", what, p, buf[:runtime.Stack(buf, false)])
		}
	}()
	f, err := openSums(b, noSums)
	if err != nil {
		m.failed = true
		return m
	}
	m.opened = true
	var r reached
	m.failed = walkAll(f, &r) != nil
	m.tables = r.tables
	return m
}

// mutate changes 1 to 8 places; most bytes of a file are data, so it prefers places
// near signatures and small numbers.
func mutate(rng *rand.Rand, src []byte) []byte {
	b := bytes.Clone(src)
	for range 1 + rng.IntN(8) {
		at := rng.IntN(len(b))
		if rng.IntN(4) > 0 {
			at = nearStructure(rng, b)
		}
		switch rng.IntN(6) {
		case 0:
			b[at] ^= 1 << rng.IntN(8)
		case 1:
			b[at] = byte(rng.Uint32())
		case 2:
			b[at] = 0xff
		case 3:
			b[at]++
		case 4:
			for i := at; i < min(at+1+rng.IntN(8), len(b)); i++ {
				b[i] = 0xff
			}
		case 5: // another place's bytes
			n := min(1+rng.IntN(64), len(b)-at)
			copy(b[at:at+n], b[rng.IntN(len(b)-n+1):])
		}
	}
	if rng.IntN(20) == 0 {
		b = b[:rng.IntN(len(b))]
	}
	return b
}

var structures = [][]byte{
	[]byte("TREE"), []byte("SNOD"), []byte("HEAP"), []byte("OHDR"), []byte("OCHK"), []byte("FRHP"), []byte("FHDB"), []byte("FHIB"),
	[]byte("BTHD"), []byte("BTLF"), []byte("BTIN"), []byte("GCOL"), []byte("FAHD"), []byte("FADB"), []byte("EAHD"), []byte("EAIB"),
	[]byte("EASB"), []byte("EADB"), []byte("SMTB"), []byte("\x89HDF"), {1, 0},
}

func nearStructure(rng *rand.Rand, b []byte) int {
	from := rng.IntN(len(b))
	i := bytes.Index(b[from:], structures[rng.IntN(len(structures))])
	if i < 0 {
		return from
	}
	return min(from+i+rng.IntN(120), len(b)-1)
}

func FuzzOpen(f *testing.F) {
	own, _ := filepath.Glob("testdata/*.h5")
	for _, p := range own {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, true)
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, noSums bool) {
		file, err := openSums(b, noSums)
		if err == nil {
			walkAll(file, nil)
		}
	})
}
