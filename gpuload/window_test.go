package gpuload

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify/tests/race"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/writers/writertest"
)

// windowKinds has each kind of column that a window can have.
var windowKinds = map[string]string{
	index.FormatMmap: "x:f32[3],y:i64,half:f16[5],hits:f32*,pt:f32*9@Jet,id:i8*9@Jet,vec:f64*4[2],img:jpg*300,note:txt*,maybe:f32?",
	index.FormatWDS:  "x:f32[3],cls:i16,hits:f32*,pt:f32*9@Jet,id:i8*9@Jet,img:jpg*300",
}

// compareWindow holds row i of a batch of windows against the rows of the set.
func compareWindow(t testing.TB, b *Batch, row int, want *shardify.Batch, anchor int64, v *index.View) {
	t.Helper()
	for k := range want.Columns {
		c := &want.Columns[k]
		for suffix, at := range map[string][]int64{"": v.In, index.NextSuffix: v.Out} {
			values, err := b.Tensor(c.Name + suffix)
			if err != nil {
				if len(at) > 0 {
					t.Fatal(err)
				}
				continue
			}
			size, n := c.ElemBytes(), len(at)
			for j, o := range at {
				lo, hi := row*n+j, row*n+j+1
				if c.Levels == 1 {
					x, err := b.Offsets(c.Name + suffix)
					y, err1 := b.Offsets1(c.Name + suffix)
					if err = errors.Join(err, err1); err != nil {
						t.Fatal(err)
					}
					if outer := shardify.View[int64](x.Data); outer[row] != int64(row*n) || outer[row+1] != int64((row+1)*n) {
						t.Fatalf("column %s: window %d is lists %d to %d of %d", c.Name+suffix, row, outer[row], outer[row+1], n)
					}
					lists := shardify.View[int64](y.Data)
					lo, hi = int(lists[lo]), int(lists[hi])
				}
				from, to := c.Range(int(anchor+o), int(anchor+o)+1)
				if have := values.Data[lo*size : hi*size]; !bytes.Equal(have, c.Data[from:to]) {
					t.Fatalf("column %s, anchor %d %+d in row %d: %x, want %x", c.Name+suffix, anchor, o, row, have, c.Data[from:to])
				}
				if c.Nullable {
					x, err := b.Valid(c.Name + suffix)
					if err != nil || len(x.Data) != b.Batch()*n {
						t.Fatal(len(x.Data), err)
					}
					if ok := c.Valid == nil || c.Valid[anchor+o] != 0; (x.Data[row*n+j] != 0) != ok {
						t.Fatalf("column %s, anchor %d %+d: valid is %d", c.Name+suffix, anchor, o, x.Data[row*n+j])
					}
				}
			}
		}
	}
}

// epochAnchors reads to the end of an epoch, holds every window against the set, and returns
// the anchors by step.
func epochAnchors(t testing.TB, l *Loader, want *shardify.Batch) [][]int64 {
	t.Helper()
	return epoch(t, l, func(b *Batch, i int, id int64) {
		if want != nil {
			compareWindow(t, b, i, want, id, l.Window())
		}
	})
}

// windowsOf257 are texts of windows and how many of 257 rows each has.
var windowsOf257 = map[string]int{"1+1": 256, "2+3,step=2,lead=3": 248, "7": 251, "3+1,stride=5": 51}

func TestEveryWindowOnceAndBitExact(t *testing.T) {
	for format, schema := range windowKinds {
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 257, shard: 50})
		want := contents(t, format, dir)
		d := mustOpen(t, dir)
		for text, n := range windowsOf257 {
			if testing.Short() && text != "2+3,step=2,lead=3" && (format != index.FormatMmap || race.On) {
				continue
			}
			t.Run(format+"/"+text, func(t *testing.T) {
				eachWay(t, func(t *testing.T, c Config) {
					c.Batch, c.Last, c.Workers, c.Window = 16, Pad, 3, text
					l := mustLoader(t, d, c)
					for range 2 {
						all := slices.Concat(epochAnchors(t, l, want)...)
						if c.Shuffle != None && slices.IsSorted(all) {
							t.Error("not shuffled")
						}
						slices.Sort(all)
						if len(all) != n || len(slices.Compact(all)) != n {
							t.Fatalf("%d windows, want %d, each once", len(all), n)
						}
					}
				})
			})
		}
	}
}

// TestWindowsOfLongRows are read where they are to be, or copied past the caches: those of shards'
// borders and of padded batches, too.
func TestWindowsOfLongRows(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[40001],y:u8[70000],z:i16[9]", samples: 31, shard: 7})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	for text, n := range map[string]int{"1+1": 30, "2+2,step=2,lead=1": 26, "3": 29} {
		if race.Short() && text != "2+2,step=2,lead=1" {
			continue
		}
		eachWay(t, func(t *testing.T, c Config) {
			c.Batch, c.Last, c.Workers, c.Window = 24, Pad, 2, text
			if all := slices.Concat(epochAnchors(t, mustLoader(t, d, c), want)...); len(all) != n {
				t.Errorf("%s: %d windows, want %d", text, len(all), n)
			}
		})
	}
}

func TestWindowsOfEveryWorldAreTheSameGlobalSteps(t *testing.T) {
	const global = 24
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],h:i16*", samples: 301, shard: 40})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		var first [][]int64
		for _, world := range []int{1, 2, 4} {
			var steps [][]int64
			for rank := range world {
				c.Batch, c.Rank, c.World, c.Last, c.Streams, c.Window = global/world, rank, world, Pad, 12, "3+2,lead=4"
				mine := epochAnchors(t, mustLoader(t, d, c), want)
				for i := range mine {
					if rank == 0 {
						steps = append(steps, nil)
					}
					steps[i] = append(steps[i], mine[i]...)
				}
			}
			for i := range steps {
				slices.Sort(steps[i])
			}
			if first == nil {
				first = steps
			} else if !slices.EqualFunc(first, steps, slices.Equal) {
				t.Errorf("world %d: other steps than world 1", world)
			}
		}
	})
}

func TestWindowsResumeAtEveryStep(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],h:i16*", samples: 100, shard: 30})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Seed, c.Window = 12, 9, "2+1"
		l := mustLoader(t, d, c)
		var states []State
		var unbroken [][]int64
		for b, err := l.Next(bg); err != io.EOF; b, err = l.Next(bg) {
			if err != nil {
				t.Fatal(err)
			}
			unbroken = append(unbroken, slices.Clone(b.IDs()))
			states = append(states, l.State())
			b.Release()
		}
		for i, s := range states {
			l := mustLoader(t, d, c)
			if err := l.Restore(s); err != nil {
				t.Fatal(err)
			}
			if i+1 == len(states) {
				continue
			}
			if rest := epochAnchors(t, l, want); !slices.EqualFunc(rest, unbroken[i+1:], slices.Equal) {
				t.Fatalf("from step %d on: %v, want %v", i+1, rest, unbroken[i+1:])
			}
			l.Close()
		}
		c.Window = "1+2" // as many, around other rows
		if err := mustLoader(t, d, c).Restore(states[0]); !errors.Is(err, ErrOrder) {
			t.Errorf("a state of other windows: %v", err)
		}
	})
}

func TestColumnsAndCastsOfWindows(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[4],y:u8[2],h:i16*", samples: 60, shard: 25})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Window, c.Columns = 8, "2+2", []string{"x", "y.next", "h.next"}
		c.Cast = map[string]Cast{"y": {DType: shardify.F32, Scale: []float32{2, 3}}}
		l := mustLoader(t, d, c)
		if got := l.Columns(); !slices.Equal(got, []string{"x", "y.next", "h.next"}) {
			t.Fatal(got)
		}
		b, err := l.Next(bg)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Release()
		y, err := b.Tensor("y.next")
		if err != nil || !slices.Equal(y.Shape, []int64{8, 2, 2}) {
			t.Fatal(y.Shape, err)
		}
		have, at := shardify.View[float32](y.Data), slices.IndexFunc(want.Columns, func(c shardify.Column) bool { return c.Name == "y" })
		for i, id := range b.IDs() {
			for j := range 2 {
				for k := range 2 {
					raw := want.Columns[at].Data[(int(id)+1+j)*2+k]
					if v := have[(i*2+j)*2+k]; v != float32(raw)*float32(2+k) {
						t.Fatalf("anchor %d %+d: %v of %d", id, j+1, v, raw)
					}
				}
			}
		}
	})
}

func TestWindowsOfSeveralSetsEndAtTheirBorders(t *testing.T) {
	var dirs []string
	for i := range 2 {
		dirs = append(dirs, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2]", samples: 20 + 10*i, shard: 8, seed: i}))
	}
	want := contents(t, index.FormatMmap, dirs...)
	d := mustOpen(t, dirs...)
	for _, mix := range [][]float64{nil, {1, 1}} {
		l := mustLoader(t, d, Config{Batch: 4, Window: "2+1", Mix: mix, Last: Pad})
		all := slices.Concat(epochAnchors(t, l, want)...)
		for _, a := range all {
			if a == 0 || a == 19 || a == 20 || a == 49 {
				t.Errorf("mix %v: a window around row %d", mix, a)
			}
		}
		if slices.Sort(all); mix == nil && len(all) != 18+28 {
			t.Errorf("%d windows", len(all))
		}
	}
}

func TestIndicesOfWindowsAreAnchors(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],y:u8", samples: 30, shard: 8})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	l := mustLoader(t, d, Config{Batch: 3, Window: "2+1", Indices: []int64{7, 1, 28}})
	if got := slices.Concat(epochAnchors(t, l, want)...); !slices.Equal(got, []int64{7, 1, 28}) {
		t.Error(got)
	}
	for _, bad := range []int64{0, 29, 30, -1} {
		if _, err := d.Loader(Config{Batch: 1, Window: "2+1", Indices: []int64{bad}}); err == nil {
			t.Errorf("index %d", bad)
		}
	}
	mustLoader(t, d, Config{Batch: 3, Window: "2+1", Weights: make([]float64, 28)[:28:28], Shuffle: None}.weighted()).Close()
	epochAnchors(t, mustLoader(t, d, Config{Batch: 3, Window: "2+1", Balance: "y", Shuffle: Global, Samples: 40}), want)
}

func (c Config) weighted() Config {
	for i := range c.Weights {
		c.Weights[i] = float64(i + 1)
	}
	return c
}

func TestWindowsThatCannotBe(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],l:i16**,flag:bool", samples: 30, shard: 8})
	d := mustOpen(t, dir)
	for text, want := range map[string]error{
		"x":             shardify.ErrSchema,
		"20+20":         shardify.ErrSchema,
		"2+1":           shardify.ErrUnsupported, // lists in lists
		"flag=2+1":      shardify.ErrSchema,
		"none=2+1":      shardify.ErrSchema,
		"2+":            shardify.ErrUsage,
		"0+1":           shardify.ErrUsage,
		"2+1,lead=6h":   shardify.ErrSchema,
		"2+1,lead=0":    shardify.ErrUsage,
		"2+1,pace=3":    shardify.ErrUsage,
		"9999999999999": shardify.ErrUsage,
	} {
		if _, err := d.Loader(Config{Batch: 1, Window: text}); !errors.Is(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAViewOfTheManifestByItsName(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2]", samples: 30, shard: 8})
	want := contents(t, index.FormatMmap, dir)
	rewrite(t, dir, func(m *index.Manifest) {
		m.Windows = map[string]index.View{"pairs": {In: []int64{-1, 0}, Out: []int64{1, 2}, Anchors: []index.Anchors{{Lo: 3, Hi: 9, Step: 1}, {Lo: 10, Hi: 28, Step: 4}}}}
	})
	d := mustOpen(t, dir)
	if got := d.Windows(); !slices.Equal(got, []string{"pairs"}) {
		t.Error(got)
	}
	anchors := []int64{3, 4, 5, 6, 7, 8, 10, 14, 18, 22, 26}
	for text, out := range map[string]int{"pairs": 2, "pairs,out=1": 1, "pairs,out=0": 0} {
		eachWay(t, func(t *testing.T, c Config) {
			c.Batch, c.Last, c.Window = 4, Pad, text
			l := mustLoader(t, d, c)
			got := slices.Concat(epochAnchors(t, l, want)...)
			if slices.Sort(got); !slices.Equal(got, anchors) || len(l.Window().Out) != out {
				t.Errorf("%s: %v, %d rows behind", text, got, len(l.Window().Out))
			}
		})
	}
	for _, text := range []string{"pairs,out=3", "other", "pairs,lead=2"} {
		if _, err := d.Loader(Config{Batch: 1, Window: text}); err == nil {
			t.Error(text)
		}
	}
}

// rewrite changes a set's manifest.
func rewrite(t testing.TB, dir string, change func(*index.Manifest)) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, index.ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.DecodeManifest(b)
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	writertest.WriteManifest(t, dir, m)
}
