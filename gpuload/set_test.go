package gpuload

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/mmap"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/readers/wds"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers"
	"github.com/shardify/shardify/writers/writertest"
)

var bg = context.Background()

// setOptions say what a test's data set holds.
type setOptions struct {
	format, schema string
	samples, shard int
	seed           int
	keyed          bool
}

// everyKind has each kind of column that a format can carry.
var everyKind = map[string]string{
	index.FormatMmap: "x:f32[3],y:i64,flag:bool,half:f16[5],hits:f32*,pt:f32*9@Jet,id:i8*9@Jet,vec:f64*4[2],trk:i16**,img:jpg*300,words:txt**,maybe:f32?,note:txt?",
	index.FormatWDS:  "x:f32[3],cls:i16,hits:f32*,pt:f32*9@Jet,id:i8*9@Jet,img:jpg*300,words:txt**,note:txt?",
}

// makeSet converts synthetic samples to a data set.
func makeSet(t testing.TB, o setOptions) string {
	t.Helper()
	dir := t.TempDir()
	opts, err := format.CheckOptions(synth.Format.Options, format.Options{
		"samples": fmt.Sprint(o.samples), "schema": o.schema, "synth-seed": fmt.Sprint(o.seed), "keyed": fmt.Sprint(o.keyed),
	})
	if err != nil {
		t.Fatal(err)
	}
	args := format.OpenArgs{Table: &format.Table{}, Options: opts}
	src, err := synth.Format.Open(bg, args)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	sink, _ := writers.Lookup(o.format)
	sinkOptions, err := format.CheckOptions(sink.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := convert.MakePlan(bg, convert.Request{Input: "synth", Source: src, Args: args, Output: sink, Options: sinkOptions, ShardSamples: int64(o.shard)})
	if err != nil {
		t.Fatal(err)
	}
	job := convert.Job{Plan: plan, Source: src, Sink: sink, Store: local.NewDir(dir, "none"), Pool: shardify.NewPool(256 << 20), Jobs: 2}
	if _, err := job.Convert(bg); err != nil {
		t.Fatal(err)
	}
	return dir
}

// contents is all samples of data sets, as the readers of package readers deliver
// them.
func contents(t testing.TB, kind string, dirs ...string) *shardify.Batch {
	t.Helper()
	table := &format.Table{Roots: dirs}
	for i := range dirs {
		table.Append(i, "", format.SizeUnknown, 0)
	}
	open := mmap.Open
	if kind == index.FormatWDS {
		open = wds.Open
	}
	src, err := open(bg, format.OpenArgs{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	return writertest.ReadAll(t, src, 1<<20)
}

func mustOpen(t testing.TB, dirs ...string) *Dataset {
	t.Helper()
	d, err := Open(bg, dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func mustLoader(t testing.TB, d *Dataset, c Config) *Loader {
	t.Helper()
	l, err := d.Loader(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// compareRow holds row i of a batch against a sample.
func compareRow(t testing.TB, b *Batch, row int, want *shardify.Batch, sample int64) {
	t.Helper()
	for k := range want.Columns {
		c := &want.Columns[k]
		values, err := b.Tensor(c.Name)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := row, row+1
		for level := range c.Levels {
			x, err := b.Offsets(c.Name)
			if level == 1 {
				x, err = b.Offsets1(c.Name)
			}
			if err != nil {
				t.Fatal(err)
			}
			o := shardify.View[int64](x.Data)
			if level == 1 {
				compareLists(t, c, o[lo:hi+1], sample)
			}
			lo, hi = int(o[lo]), int(o[hi])
		}
		from, to := c.Range(int(sample), int(sample)+1)
		size := c.ElemBytes()
		if have := values.Data[lo*size : hi*size]; !bytes.Equal(have, c.Data[from:to]) {
			t.Fatalf("column %s, sample %d in row %d: %x, want %x", c.Name, sample, row, have, c.Data[from:to])
		}
		if c.Nullable {
			v, err := b.Valid(c.Name)
			if err != nil {
				t.Fatal(err)
			}
			want := byte(1)
			if c.Valid != nil {
				want = c.Valid[sample]
			}
			if v.Data[row] != want {
				t.Fatalf("column %s, sample %d: valid is %d, want %d", c.Name, sample, v.Data[row], want)
			}
		}
	}
}

// compareKey holds the name of row i against a sample's, where the batch has names.
func compareKey(t testing.TB, b *Batch, row int, want *shardify.Batch, sample int64) {
	t.Helper()
	names, err := b.Tensor(index.KeyName)
	if err != nil {
		return
	}
	x, err := b.Offsets(index.KeyName)
	if err != nil {
		t.Fatal(err)
	}
	o := shardify.View[int64](x.Data)
	if have := names.Data[o[row]:o[row+1]]; !bytes.Equal(have, want.Key(int(sample))) {
		t.Fatalf("sample %d is named %q, want %q", sample, have, want.Key(int(sample)))
	}
}

// compareLists: the lists of one sample have the wanted lengths.
func compareLists(t testing.TB, c *shardify.Column, have []int64, sample int64) {
	t.Helper()
	want := c.Offsets[1][c.Offsets[0][sample] : c.Offsets[0][sample+1]+1]
	if len(have) != len(want) {
		t.Fatalf("column %s, sample %d has %d lists, want %d", c.Name, sample, len(have)-1, len(want)-1)
	}
	for i := range have {
		if have[i]-have[0] != want[i]-want[0] {
			t.Fatalf("column %s, sample %d: list %d begins at %d, want %d", c.Name, sample, i, have[i]-have[0], want[i]-want[0])
		}
	}
}

// epochIDs reads to the end of an epoch, holds every row against the set, and
// returns the samples by step.
func epochIDs(t testing.TB, l *Loader, want *shardify.Batch) [][]int64 {
	t.Helper()
	return epoch(t, l, func(b *Batch, i int, id int64) {
		if want != nil {
			compareRow(t, b, i, want, id)
			compareKey(t, b, i, want, id)
		}
	})
}

// epoch reads to the end of an epoch, gives every row to each, and returns the samples by step.
func epoch(t testing.TB, l *Loader, each func(b *Batch, i int, id int64)) (steps [][]int64) {
	t.Helper()
	for {
		b, err := l.Next(bg)
		if err == io.EOF {
			return steps
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range b.IDs()[:b.Rows()] {
			each(b, i, id)
		}
		for _, id := range b.IDs()[b.Rows():] {
			if id != -1 {
				t.Fatalf("padding has ID %d", id)
			}
		}
		steps = append(steps, slices.Clone(b.IDs()[:b.Rows()]))
		b.Release()
	}
}

func mmapFormat() format.Output {
	f, _ := writers.Lookup(index.FormatMmap)
	return f
}
