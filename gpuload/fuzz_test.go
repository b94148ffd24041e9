package gpuload

import (
	"errors"
	"os"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// FuzzTarSample reads the bytes of one sample of a tar: rubbish is an error, never
// a panic, and what is accepted has lengths that fit its bytes.
func FuzzTarSample(f *testing.F) {
	dir := makeSet(f, setOptions{format: index.FormatWDS, schema: everyKind[index.FormatWDS], samples: 6})
	d := mustOpen(f, dir)
	l, err := d.Loader(Config{Batch: 1, Keys: true})
	if err != nil {
		f.Fatal(err)
	}
	defer l.Close()
	sh := l.shards.shards[0]
	h, err := l.shards.acquire(sh)
	if err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(sh.path)
	if err != nil {
		f.Fatal(err)
	}
	for i := range 6 {
		f.Add(b[h.index[i]:h.index[i+1]])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = raw[:len(raw)&^(index.TarBlock-1)]
		if len(raw) == 0 || len(raw) > 1<<20 {
			return
		}
		one := table{layout: l.layout, mem: hostMemory{}, data: make([][]byte, len(l.layout.Tensors)), counts: make([]int64, len(l.layout.Tensors))}
		defer one.close()
		if err := one.reset(1); err != nil {
			t.Fatal(err)
		}
		s := span{run: run{sh: sh, lo: 0, hi: 1}, h: &openShard{shard: sh, index: []int64{0, int64(len(raw))}}}
		s.take(raw)
		ld := loader{shardSet: l.shards, hold: true}
		err := s.parse(&one)
		if err == nil {
			err = layOut(&one, index.LeadOffsets)
		}
		if err == nil {
			err = s.measureTexts(&ld, &one)
		}
		if err == nil {
			err = layOut(&one, index.LeadLists)
		}
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		for i := range l.layout.Tensors {
			if l.layout.Tensors[i].Lead != index.LeadElements {
				continue
			}
			n := one.total(lastOffsets(l.layout.ColumnOf(i)))
			if n*l.layout.Tensors[i].Row > int64(len(raw)) {
				t.Fatalf("%d elements out of %d bytes", n, len(raw))
			}
			if err := one.setCount(i, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.fillTar(&ld, &one); err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("error is %v", err)
		}
	})
}
