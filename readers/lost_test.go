package readers_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/readers/readertest"
)

// lostSeed is an input of testdata/mutate: a file, or the folder of a set.
type lostSeed struct {
	name, format string
	options      map[string]string
	files        map[string][]byte
	whole        *lostRead
	// known tells what is lost in a way that nothing in the file contradicts.
	known func(was, is *lostRead) string
}

// lostRead is what became of an input: its fields and how many samples.
type lostRead struct {
	fields  map[string]string // types by name
	left    map[string]bool   // fields that the plan says are not read
	samples int64
}

// lostTally counts what became of damaged inputs.
type lostTally struct {
	count, refused, same, values, named, known int
	lost                                       []string
}

func (s *lostSeed) write(t *testing.T, dir string, files map[string][]byte) string {
	for name, b := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if readers.IsSet(s.format) {
		return dir
	}
	return filepath.Join(dir, s.name)
}

// read opens inputs together and reads all samples.
func (s *lostSeed) read(inputs ...string) (*lostRead, error) {
	out := &lostRead{fields: map[string]string{}, left: map[string]bool{}}
	ctx := context.Background()
	f, ok := readers.Lookup(s.format)
	if !ok {
		return nil, errors.New("no format " + s.format)
	}
	options, err := pipeline.Pick(s.options, f.Options)
	if err != nil {
		return nil, err
	}
	w, err := readertest.Walk(func(context.Context) (shardify.Source, error) {
		o, err := readers.Open(ctx, f, readers.Request{Inputs: inputs, Options: options, Jobs: 1, Asked: true})
		if err != nil {
			return nil, err
		}
		for _, f := range o.Source.Schema() {
			out.fields[f.Name] = fmt.Sprint(f.DType, f.Shape, f.Levels, f.Media, f.Ragged)
		}
		if r, ok := o.Source.(format.Reporter); ok {
			for _, l := range r.Leftovers() {
				out.left[l.Name] = l.Unreadable
			}
		}
		return o.Source, nil
	}, 32<<10, func(b *shardify.Batch) { out.samples += int64(b.Samples) })
	if err == nil && !w.Whole {
		return nil, errors.New("more spans than a small file has")
	}
	return out, err
}

// What a damaged input may take of time and of memory.
const (
	lostTime   = 30 * time.Second
	lostMemory = 1 << 30
)

// lostSeeds are the inputs by format.
func lostSeeds(t *testing.T) (all []*lostSeed) {
	object := map[string]string{"object": "Events"}
	for _, s := range []*lostSeed{
		{name: "tree.root", format: "root"}, {name: "tree.root", format: "root", options: object},
		{name: "ntuple.root", format: "root"}, {name: "ntuple.root", format: "root", options: object},
		{name: "rows_earliest.h5", format: "hdf5"}, {name: "rows_latest.h5", format: "hdf5"},
		{name: "groups_earliest.h5", format: "hdf5"}, {name: "groups_latest.h5", format: "hdf5"},
		{name: "stored.npz", format: "npz"}, {name: "deflated.npz", format: "npz"}, {name: "rows.npy", format: "npz"},
		{name: "plain.parquet", format: "parquet"}, {name: "snappy.parquet", format: "parquet"},
		{name: "samples.tar", format: "tar"}, {name: "mmap", format: "mmap"}, {name: "wds", format: "wds"},
	} {
		s.files = map[string][]byte{}
		root := filepath.Join("testdata", "mutate")
		err := filepath.WalkDir(filepath.Join(root, s.name), func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(p)
			rel := strings.TrimPrefix(p, filepath.Join(root, s.name)+"/")
			if p == filepath.Join(root, s.name) {
				rel = s.name
			}
			s.files[rel] = b
			return err
		})
		if err == nil {
			s.whole, err = s.read(s.write(t, t.TempDir(), s.files))
		}
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		all = append(all, s)
	}
	return all
}

// damage changes one of the files in one to three places.
func (s *lostSeed) damage(rng *rand.Rand) map[string][]byte {
	names := slices.Sorted(maps.Keys(s.files))
	out := maps.Clone(s.files)
	name := names[rng.IntN(len(names))]
	b := bytes.Clone(out[name])
	for range 1 + rng.IntN(3)*rng.IntN(2) {
		at := rng.IntN(len(b))
		for try := 0; try < 4 && b[at] == 0 && !bytes.ContainsFunc(b[max(at-4, 0):min(at+5, len(b))], func(r rune) bool { return r != 0 }); try++ {
			at = rng.IntN(len(b)) // rather not in padding
		}
		number := readertest.Interesting[rng.IntN(len(readertest.Interesting))]
		switch rng.IntN(9) {
		case 0, 1, 2:
			b[at] ^= 1 << rng.IntN(8)
		case 3:
			b[at] = byte(rng.Uint32())
		case 4:
			copy(b[at:], binary.LittleEndian.AppendUint64(nil, number)[:1<<rng.IntN(4)])
		case 5:
			copy(b[at:], binary.BigEndian.AppendUint64(nil, number)[8-1<<rng.IntN(4):])
		case 6:
			clear(b[at:min(at+1+rng.IntN(16), len(b))])
		case 7: // one place as another
			k := rng.IntN(len(b))
			copy(b[at:], bytes.Clone(b[k:min(k+1+rng.IntN(32), len(b))]))
		case 8:
			if rng.IntN(4) == 0 && at > 0 {
				b = b[:at]
			} else {
				b[at]++
			}
		}
	}
	out[name] = b
	return out
}

// judge compares what was read of a damaged input with what is there.
func (x *lostTally) judge(s *lostSeed, is *lostRead, samples int64, where string) {
	var missing []string
	for name := range s.whole.fields {
		if _, ok := is.fields[name]; !ok {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	unread := 0
	for _, l := range is.left {
		if l {
			unread++
		}
	}
	why := ""
	if s.known != nil {
		why = s.known(s.whole, is)
	}
	switch {
	case len(missing) == 0 && is.samples == samples && maps.Equal(is.fields, s.whole.fields):
		x.same++
	case len(missing) == 0 && is.samples == samples:
		x.values++ // of another type
	case len(is.fields) >= len(s.whole.fields) && is.samples == samples:
		x.values++ // with another name
	case is.samples == samples && len(is.fields)+unread >= len(s.whole.fields):
		x.named++ // the plan says so, whatever is asked for
	case why != "":
		x.known++
	default:
		x.lost = append(x.lost, fmt.Sprintf("%s: %d samples of %d; without %v; has %v, left out %v", where, is.samples, samples, missing, slices.Sorted(maps.Keys(is.fields)), is.left))
	}
}

// TestMutatedInputsLoseNothingSilently: of inputs that are damaged anywhere, alone or beside
// a good one, either the conversion ends with an error, or all columns and samples are there.
// SHARDIFY_MUTATIONS is the number of inputs.
func TestMutatedInputsLoseNothingSilently(t *testing.T) {
	count := readertest.Mutations(t, 480)
	w := readertest.Watch{Limit: lostTime, Memory: lostMemory}
	defer w.Start()()
	tally := map[string]*lostTally{}
	seeds := lostSeeds(t)
	dir := t.TempDir()
	for i := range count {
		s := seeds[i%len(seeds)]
		x := tally[s.format]
		if x == nil {
			x = &lostTally{}
			tally[s.format] = x
		}
		s.one(t, &w, x, dir, uint64(i))
		if t.Failed() {
			break
		}
	}
	for _, format := range slices.Sorted(maps.Keys(tally)) {
		x := tally[format]
		t.Logf("%s: %d damaged inputs: %d refused, %d as before, %d with other types or names, %d with fields that the plan says are not read, %d that nothing contradicts, %d lost something",
			format, x.count, x.refused, x.same, x.values, x.named, x.known, len(x.lost))
		for _, l := range x.lost[:min(len(x.lost), 40)] {
			t.Errorf("    %s", l)
		}
	}
}

func (s *lostSeed) one(t *testing.T, w *readertest.Watch, x *lostTally, dir string, i uint64) {
	w.Begin(i)
	x.count++
	rng := rand.New(rand.NewPCG(41, i))
	files := s.damage(rng)
	var data []byte
	for name := range files {
		if !bytes.Equal(files[name], s.files[name]) {
			data = files[name]
		}
	}
	defer w.Judge(t, i, s.name, data, fmt.Sprintf("lost-%d-%s", i, filepath.Base(s.name)))
	bad := s.write(t, filepath.Join(dir, "bad"), files)
	inputs, samples := []string{bad}, s.whole.samples
	if beside := rng.IntN(2) == 0; beside {
		inputs, samples = []string{s.write(t, filepath.Join(dir, "good"), s.files), bad}, 2*samples
	}
	is, err := s.read(inputs...)
	if err != nil {
		x.refused++
		return
	}
	x.judge(s, is, samples, fmt.Sprintf("mutation %d of %s, %d inputs", i, s.name, len(inputs)))
}

// TestOneMutation shows one mutation, SHARDIFY_MUTATION, for who mends a reader.
func TestOneMutation(t *testing.T) {
	n, err := strconv.ParseUint(os.Getenv("SHARDIFY_MUTATION"), 10, 64)
	if err != nil {
		t.Skip("SHARDIFY_MUTATION is not the number of one")
	}
	seeds := lostSeeds(t)
	s := seeds[n%uint64(len(seeds))]
	files := s.damage(rand.New(rand.NewPCG(41, n)))
	for name, b := range files {
		for i := range b {
			if b[i] != s.files[name][i] {
				t.Logf("%s, byte %d: %#x, was %#x", name, i, b[i], s.files[name][i])
			}
		}
	}
	is, err := s.read(s.write(t, t.TempDir(), files))
	t.Logf("%+v: %v", is, err)
}
