package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/storage/local"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/writers"
)

// makeSet converts synthetic samples to a data set.
func noIndices(string) ([]int64, error) { return nil, nil }

func makeSet(t testing.TB, schema string, samples int) string {
	t.Helper()
	dir := t.TempDir()
	opts, err := format.CheckOptions(synth.Format.Options, format.Options{"samples": fmt.Sprint(samples), "schema": schema})
	if err != nil {
		t.Fatal(err)
	}
	args := format.OpenArgs{Table: &format.Table{}, Options: opts}
	src, err := synth.Format.Open(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	sink, _ := writers.Lookup(index.FormatMmap)
	sinkOptions, err := format.CheckOptions(sink.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := convert.MakePlan(t.Context(), convert.Request{Input: "synth", Source: src, Args: args, Output: sink, Options: sinkOptions, ShardSamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	job := convert.Job{Plan: plan, Source: src, Sink: sink, Store: local.NewDir(dir, "none"), Pool: shardify.NewPool(64 << 20), Jobs: 1}
	if _, err := job.Convert(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// leases counts those that are not yet freed.
func leases(t testing.TB) *atomic.Int64 {
	var n atomic.Int64
	newBefore, freeBefore := newLease, freeLease
	newLease = func() *lease {
		n.Add(1)
		return &lease{held: 1}
	}
	freeLease = func(*lease) { n.Add(-1) }
	t.Cleanup(func() { newLease, freeLease = newBefore, freeBefore })
	return &n
}

func mustOpen(t testing.TB, format string, args ...any) *loader {
	t.Helper()
	l, err := openLoader(fmt.Appendf(nil, format, args...), noIndices, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *loader) numbers() []int64 { return make([]int64, stepHead+tensorEach*len(l.tensors)) }

func mustNext(t testing.TB, l *loader, lend bool) (*batch, []int64) {
	t.Helper()
	step := l.numbers()
	code, err := l.next(2*time.Minute, 0, lend, step)
	if code != ok || err != nil {
		t.Fatal(code, err)
	}
	b, err := known.batch(uint64(step[stepBatch]))
	if err != nil {
		t.Fatal(err)
	}
	return b, step
}

func TestALentBatchComesBackWhenNobodyHoldsIt(t *testing.T) {
	n := leases(t)
	l := mustOpen(t, `{"paths":[%q],"batch":4,"device":"host","depth":2}`, makeSet(t, "x:i64,hits:f32*", 100))
	a, _ := mustNext(t, l, true)
	b, step := mustNext(t, l, true)
	n.Add(-1) // the loader's own list
	if step[stepLent] != 2 || n.Load() != 2 {
		t.Errorf("%d lent, %d leases: want 2", step[stepLent], n.Load())
	}
	atomic.AddInt64(&a.views.held, -1)
	if code, err := b.of.settle(b); code != again || err != nil {
		t.Errorf("settle of a batch that is held: %d, %v", code, err)
	}
	c, step := mustNext(t, l, true)
	if step[stepLent] != 2 || n.Load() != 2 {
		t.Errorf("%d lent, %d leases after one came back: want 2", step[stepLent], n.Load())
	}
	if _, err := known.batch(a.handle); !errors.Is(err, errStale) {
		t.Errorf("the handle of a batch that came back: %v", err)
	}
	// With all slots lent nothing can be made: next waits no longer than it was asked to.
	last, _ := mustNext(t, l, true)
	if code, err := l.next(50*time.Millisecond, 0, true, l.numbers()); code != again || err != nil {
		t.Errorf("next with every slot lent: %d, %v", code, err)
	}
	atomic.AddInt64(&b.views.held, -1)
	atomic.AddInt64(&last.views.held, -1)
	mustNext(t, l, false)
	// A loader that is closed leaves what is lent, and takes it back later.
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if x := c.Host("x"); len(x) != 32 || shardify.View[int64](x)[0] == 0 && shardify.View[int64](x)[1] == 0 {
		t.Errorf("a lent batch after close: %v", x)
	}
	atomic.AddInt64(&c.views.held, -1)
	for range 6000 {
		if n.Load() == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d leases are left", n.Load())
}

func TestTakeCopiesWhatFits(t *testing.T) {
	l := mustOpen(t, `{"paths":[%q],"batch":4,"device":"host"}`, makeSet(t, "x:i64,hits:f32*", 100))
	defer l.close()
	for range 3 {
		b, step := mustNext(t, l, false)
		to, sizes, kept := make([]int64, len(l.tensors)), make([]int64, len(l.tensors)), make([][]byte, len(l.tensors))
		for i := range l.tensors {
			kept[i] = make([]byte, len(b.tensors[i].Data))
			if len(kept[i]) > 0 {
				to[i] = int64(uintptr(unsafe.Pointer(&kept[i][0])))
			}
			sizes[i] = int64(len(kept[i]))
		}
		if err := b.take(0, to, sizes); err != nil {
			t.Fatal(err)
		}
		for i := range kept {
			if string(kept[i]) != string(b.tensors[i].Data) {
				t.Errorf("tensor %d differs", i)
			}
		}
		ids := make([]int64, 4)
		l.idsAt(step[stepEpoch], step[stepFrom], ids)
		if fmt.Sprint(ids) != fmt.Sprint(b.IDs()) {
			t.Errorf("ids of the place are %v, of the batch %v", ids, b.IDs())
		}
		sizes[0]++
		if err := b.take(0, to, sizes); err == nil {
			t.Error("no error for a wrong size")
		}
		b.Release()
	}
}

// What is detached keeps its values while later batches are made, and after the loader is
// closed; what came back is used again.
func TestADetachedTensorIsTheCallers(t *testing.T) {
	n := leases(t)
	l := mustOpen(t, `{"paths":[%q],"batch":8,"device":"host","depth":1,"shuffle":"global"}`, makeSet(t, "x:i64[16],hits:f32*", 100))
	drop := func(address int64) {
		p := (*lease)(*(*unsafe.Pointer)(unsafe.Pointer(&address)))
		if atomic.AddInt64(&p.held, -1) == 0 {
			list := (*unsafe.Pointer)(unsafe.Pointer(p.list))
			for {
				first := atomic.LoadPointer(list)
				p.next = (*lease)(first)
				if atomic.CompareAndSwapPointer(list, first, unsafe.Pointer(p)) {
					break
				}
			}
		}
	}
	type kept struct {
		address, lease int64
		was            []byte
	}
	var all []kept
	seen := map[int64]int{}
	for k := range 10 {
		b, _ := mustNext(t, l, false)
		to, sizes := make([]int64, len(l.tensors)), make([]int64, len(l.tensors))
		was := append([]byte(nil), b.tensors[0].Data...)
		to[0] = detach
		if err := b.take(0, to, sizes); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Detach(b.tensors[0]); err == nil {
			t.Error("no error for a tensor that is detached already")
		}
		b.Release()
		seen[to[0]]++
		if k%2 == 0 {
			all = append(all, kept{to[0], sizes[0], was})
			continue
		}
		drop(sizes[0])
	}
	if len(seen) == 10 {
		t.Error("memory that came back was not used again")
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	for i, k := range all {
		if string(at(k.address, int64(len(k.was)))) != string(k.was) {
			t.Errorf("tensor %d changed while the caller had it", i)
		}
		drop(k.lease)
	}
	for range 6000 {
		if n.Load() == 1 { // the loader's own list
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d leases are left", n.Load())
}

func TestLoadersAreUsedFromManyThreads(t *testing.T) {
	leases(t)
	l := mustOpen(t, `{"paths":[%q],"batch":4,"device":"host","shuffle":"global","last":"pad"}`, makeSet(t, "x:i64,hits:f32*", 200))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := 0; ; j++ {
				step := l.numbers()
				lend := (i+j)%2 == 0
				code, err := l.next(time.Second, 0, lend, step)
				switch {
				case errors.Is(err, gpuload.ErrClosed):
					return
				case err != nil:
					t.Error(err)
					return
				case code != ok:
					continue
				}
				b, err := known.batch(uint64(step[stepBatch]))
				if err != nil {
					t.Error(err)
					return
				}
				_ = b.IDs()
				if lend {
					atomic.AddInt64(&b.views.held, -1)
				} else if _, err := known.takeBatch(b.handle); err == nil {
					b.Release()
				}
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if err := l.close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func TestErrorsHaveTheirKind(t *testing.T) {
	for _, c := range []struct {
		err  error
		kind string
	}{
		{shardify.Annotate(shardify.Corrupt(7, "torn"), "read", "a.tar", "m"), "corrupt"},
		{shardify.Unsupported("rare"), "unsupported"},
		{fmt.Errorf("open: %w", gpuload.ErrOrder), "state"},
		{gpuload.ErrNoDevice, "device"},
		{errors.New("cuMemAlloc_v2: CUDA error 2"), "device"},
		{&fs.PathError{Op: "open", Path: "nowhere", Err: fs.ErrNotExist}, "missing"},
		{&fs.PathError{Op: "open", Path: "theirs", Err: fs.ErrPermission}, "denied"},
		{errors.New("batch 0: want 1 or more"), "value"},
		{recovered("out of range"), "panic"},
	} {
		var f failure
		if err := json.Unmarshal([]byte(encodeError(c.err)), &f); err != nil {
			t.Fatal(err)
		}
		if f.Kind != c.kind || f.Message != shardify.Plain(c.err) {
			t.Errorf("%v: kind %q, message %q; want kind %q", c.err, f.Kind, f.Message, c.kind)
		}
		if c.kind == "corrupt" && (f.File != "a.tar" || f.Object != "m" || f.Offset != 7 || f.Sample != -1) {
			t.Errorf("%v: %+v", c.err, f)
		}
	}
}

func TestAConfigurationIsHeld(t *testing.T) {
	for text, why := range map[string]string{
		`{"bacth":4}`:              "bacth",
		`{"memory":"many"}`:        "many",
		`{"memory":1.5}`:           "1.5",
		`{"cast":{"x":{"a":1}}}`:   "a",
		`{"seed":-1}`:              "seed",
		`{"paths":["/nowhere/s"]}`: "/nowhere/s",
		``:                         "configuration",
	} {
		if _, err := openLoader([]byte(text), noIndices, nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
	}
	c, err := decodeConfig([]byte(`{"memory":"2KiB","device_memory":7,"seed":18446744073709551615,"cast":{"x":{"dtype":"f16","scale":[2]}},"patience":1.5}`))
	if err != nil {
		t.Fatal(err)
	}
	g := c.loaderConfig()
	if g.Memory != 2048 || g.DeviceMemory != 7 || g.Seed != 1<<64-1 || g.Cast["x"].DType != shardify.F16 || g.Patience != 1500*time.Millisecond {
		t.Errorf("%+v", g)
	}
}
