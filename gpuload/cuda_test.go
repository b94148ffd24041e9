//go:build cuda && linux

package gpuload

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/cuda"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/fakecuda"
	"github.com/shardify/shardify/tests/race"
)

// useFakeDriver makes cuda:0 a stand-in for the driver, whose device memory is host
// memory and which launches the PTX that ships.
func useFakeDriver(t testing.TB) *fakecuda.Driver {
	t.Helper()
	d := fakecuda.Load(t, fakecuda.Default()...)
	t.Setenv(cuda.LibraryVariable, d.Path)
	t.Cleanup(func() {
		if s := d.Text("report"); s != "" {
			t.Errorf("what a correct program never does:\n%s", s)
		}
	})
	return d
}

// useDevice makes cuda:0 the GPU if $SHARDIFY_GPU is set, else the stand-in.
func useDevice(t testing.TB) {
	if !onGPU() {
		useFakeDriver(t)
	}
}

func onGPU() bool { return os.Getenv("SHARDIFY_GPU") != "" }

// fetch waits for a batch on the device and returns it as one of the host.
func fetch(t testing.TB, b *Batch) *Batch {
	t.Helper()
	s := b.slot.Load()
	if err := b.Ready(0); err != nil {
		t.Fatal(err)
	}
	if err := s.On.State.(*device.CUDASlot).Wait(bg); err != nil {
		t.Fatal(err)
	}
	table := *s.Table
	table.Absent, table.Data = nil, make([][]byte, len(s.Table.Data))
	for i := range table.Data {
		at := b.home.Dev.Dev.Tensor(&s.On, i)
		table.Data[i] = make([]byte, table.Counts[i]*table.Layout.Tensors[i].Row)
		if to := table.Data[i]; len(to) > 0 && onGPU() {
			drv := b.home.Dev.Dev.(*device.CUDA).Driver
			pinned, err := drv.Alloc(int64(len(to)), 0)
			if err == nil {
				err = drv.Fetch(bg, pinned, uint64(at))
				copy(to, pinned)
				err = errors.Join(err, drv.Free(pinned))
			}
			if err != nil {
				t.Fatal(err)
			}
		} else if len(to) > 0 {
			copy(to, unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), len(to)))
		}
	}
	home := &slots{Want: b.home.Want, Dev: &target{Dev: device.Host{}, Host: true}}
	return newBatch(home, &slot{Table: &table, On: device.Slot{Table: &table}, Step: s.Step, numbers: numbers{ids: b.IDs(), known: true}})
}

func TestTheDeviceDeliversEverySampleBitExact(t *testing.T) {
	useDevice(t)
	for format, schema := range everyKind {
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 257, shard: 50, keyed: true})
		want := contents(t, format, dir)
		d := mustOpen(t, dir)
		t.Run(format, func(t *testing.T) {
			eachWay(t, func(t *testing.T, c Config) {
				c.Batch, c.Last, c.Keys, c.Workers, c.Device = 16, Pad, true, 3, "cuda:0"
				l := mustLoader(t, d, c)
				for range 2 {
					var all []int64
					for {
						b, err := l.Next(bg)
						if err == io.EOF {
							break
						}
						if err != nil {
							t.Fatal(err)
						}
						host := fetch(t, b)
						for i, id := range b.IDs()[:b.Rows()] {
							compareRow(t, host, i, want, id)
							compareKey(t, host, i, want, id)
							all = append(all, id)
						}
						comparePadding(t, host)
						b.Release()
					}
					slices.Sort(all)
					for i, id := range all {
						if id != int64(i) || len(all) != 257 {
							t.Fatalf("%d samples of 257; number %d is sample %d", len(all), i, id)
						}
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestRowsInOrderAreCopiedWithoutTheirNumbers: a batch whose rows follow each other in pinned memory
// is one copy, and the host computes no number of a sample for it.
func TestRowsInOrderAreCopiedWithoutTheirNumbers(t *testing.T) {
	useFakeDriver(t)
	device.Assume(0, &cuda.Speed{Batch: true, EngineRow: 1 << 10})
	t.Cleanup(func() { device.Assume(0, nil) })
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[16],y:i64", samples: 1000, shard: 300})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	for _, c := range []Config{{Batch: 64}, {Batch: 64, World: 2, Rank: 1}, {Batch: 16, Group: 8 << 10}, {Batch: 600}} {
		c.Tier, c.Last, c.Device = TierPinned, Pad, "cuda:0"
		l := mustLoader(t, d, c)
		samples := 0
		for {
			b, err := l.Next(bg)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			host := fetch(t, b)
			for i, id := range b.IDs()[:b.Rows()] {
				compareRow(t, host, i, want, id)
				samples++
			}
			comparePadding(t, host)
			b.Release()
		}
		if n := l.meter.Computed.Load(); n != 0 || samples != 1000 && (c.World != 2 || samples < 488) {
			t.Errorf("%+v: %d samples, the host computed the numbers of %d", c, samples, n)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// comparePadding: fixed fields of rows behind the last sample are zeros.
func comparePadding(t testing.TB, b *Batch) {
	t.Helper()
	tb := b.slot.Load().Table
	for i := range tb.Layout.Tensors {
		if tb.Layout.Tensors[i].Lead != index.LeadSamples {
			continue
		}
		for _, v := range tb.Part(i, int64(b.Rows()), tb.Rows) {
			if v != 0 {
				t.Fatalf("padding of tensor %s is %d", tb.Layout.Tensors[i].Name, v)
			}
		}
	}
}

func TestABatchOutlivesItsLoaderOnTheDevice(t *testing.T) {
	useFakeDriver(t)
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100, shard: 30})
	l := mustLoader(t, mustOpen(t, dir), Config{Batch: 10, Device: "cuda"})
	b, err := l.Next(bg)
	if err != nil {
		t.Fatal(err)
	}
	dev := l.dev.Dev.(*device.CUDA)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	x := fetch(t, b).Host("x")
	if len(x) != 80 || len(shardify.View[int64](x)) != 10 {
		t.Errorf("%d bytes", len(x))
	}
	b.Release()
	if n := dev.Driver.Pinned(); n != 0 || dev.Err != nil {
		t.Errorf("%d bytes are still pinned, error %v", n, dev.Err)
	}
}

func TestWithoutADriverAutoIsTheHost(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, "/nowhere/libcuda.so.1")
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100, shard: 30})
	d := mustOpen(t, dir)
	if l := mustLoader(t, d, Config{Batch: 10}); l.dev.Dev.String() != "host" {
		t.Errorf("device %s", l.dev.Dev)
	}
	if _, err := d.Loader(Config{Batch: 10, Device: "cuda:0"}); !errors.Is(err, device.ErrNoDriver) {
		t.Errorf("%v: want ErrNoDriver", err)
	}
	useFakeDriver(t)
	if l := mustLoader(t, d, Config{Batch: 10}); l.dev.Dev.String() != "cuda:0" {
		t.Errorf("device %s", l.dev.Dev)
	}
	if _, err := d.Loader(Config{Batch: 10, Device: "cuda:1"}); !errors.Is(err, device.ErrNoDevice) {
		t.Errorf("%v: want ErrNoDevice", err)
	}
}

// TestEveryDeviceFailureStopsTheLoader fails the n-th call of functions that a Loader
// uses: a clear error, no hang, nothing left pinned.
func TestEveryDeviceFailureStopsTheLoader(t *testing.T) {
	fake := useFakeDriver(t)
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3],hits:f32*", samples: 120, shard: 50})
	d := mustOpen(t, dir)
	window := Config{Batch: 8, Shuffle: Block, ShuffleWindow: 32, Streams: 2, Device: "cuda:0"}
	streamed, pinned, resident := window, window, window
	streamed.Tier, pinned.Tier = TierStream, TierPinned
	resident.Tier, resident.DeviceMemory = TierDevice, 1<<20
	resident.Cast = map[string]load.Cast{"x": {DType: shardify.F16, Scale: []float32{2}}}
	parted := resident
	parted.DeviceMemory = 12*32 + 256
	for _, name := range []string{"cuInit", "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuStreamWaitEvent", "cuEventRecord", "cuEventQuery", "cuLaunchKernel", "cuEventCreate", "cuModuleLoadDataEx"} {
		for _, n := range []int{1, 2, 7, 30} {
			if testing.Short() && n != 2 {
				continue
			}
			for k, number := range []int{2, 700, 2, 700, 2, 700, 2, 700} {
				fake.Configure(fakecuda.Fail, fmt.Sprintf("%s:%d:%d", name, n, number))
				c := []Config{streamed, pinned, resident, parted}[k/2]
				err := wholeEpoch(d, c)
				fake.Configure(fakecuda.Fail, "")
				if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%s: CUDA error %d", name, number)) {
					t.Errorf("tier %s, %s, call %d, error %d: %v", c.Tier, name, n, number, err)
				}
				copies := name != "cuMemcpyHtoDAsync_v2" || c.Tier != TierPinned // there the kernel reads host memory, and copies the few lists
				if err == nil && n < 3 && copies && name != "cuEventQuery" && (name != "cuInit" || n == 1) && (name != "cuModuleLoadDataEx" || n == 2) {
					t.Errorf("tier %s, %s, call %d, error %d: no error", c.Tier, name, n, number)
				}
				if s := fake.Left(); s != "" {
					t.Fatalf("tier %s, %s, call %d, error %d: left behind: %s", c.Tier, name, n, number, s)
				}
			}
		}
	}
}

// wholeEpoch returns the first error of an epoch, or of Close.
func wholeEpoch(d *Dataset, c Config) error {
	l, err := d.Loader(c)
	if err != nil {
		return err
	}
	for {
		var b *Batch
		if b, err = l.Next(bg); err != nil {
			break
		}
		if err = errors.Join(b.Ready(0), b.ReleaseOn(0)); err != nil {
			break
		}
	}
	if err == io.EOF {
		err = nil
	}
	return errors.Join(err, l.Close())
}

// someMemory stands for memory of the device that holds some of the samples; memoryFor says how
// much that is.
const someMemory = 1

func memoryFor(host *Loader, rows int64) (n int64) {
	for i := range host.want.Layout.Tensors {
		if t := &host.want.Layout.Tensors[i]; t.Lead == index.LeadSamples {
			n += 256 + rows*t.Row
		}
	}
	return n
}

// deviceWays are the places that samples may be gathered from.
func deviceWays(t *testing.T, f func(t *testing.T, c Config)) {
	for name, c := range ways() {
		if os.Getenv("SHARDIFY_LONG") == "" && (name == "no window" || name == "wide window") {
			continue
		}
		for _, way := range []struct {
			tier   Tier
			memory int64
		}{{TierDevice, 1 << 30}, {TierDevice, someMemory}, {TierPinned, 0}, {TierPinned, -1}, {TierStream, 0}, {TierStream, -1}} {
			c.Tier, c.DeviceMemory, c.Device = way.tier, way.memory, "cuda:0"
			t.Run(fmt.Sprint(name, "/", way.tier, "/", way.memory), func(t *testing.T) { f(t, c) })
		}
	}
}

// TestEveryTierOfTheDeviceCastsAsTheHost: of both formats, in every order, from wherever
// samples are gathered.
func TestEveryTierOfTheDeviceCastsAsTheHost(t *testing.T) {
	useDevice(t)
	for format, schema := range everyKind {
		d := mustOpen(t, makeSet(t, setOptions{format: format, schema: schema, samples: 101, shard: 30, keyed: true}))
		casts := map[string]load.Cast{}
		for name, c := range someCasts {
			if shardify.FieldIndex(d.Schema(), name) >= 0 {
				casts[name] = c
			}
		}
		deviceWays(t, func(t *testing.T, c Config) {
			c.Batch, c.Last, c.Workers, c.Keys, c.ShuffleWindow = 9, Pad, 3, true, min(c.ShuffleWindow, 40)
			host := c
			host.Device, host.Tier, host.DeviceMemory = "host", TierStream, 0
			plain := mustLoader(t, d, host)
			part := c.DeviceMemory == someMemory
			if part {
				c.DeviceMemory = memoryFor(plain, 20)
			}
			c.Cast = casts
			l, err := d.Loader(c)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[int64]bool{}
			for range 2 {
				for {
					raw, e1 := plain.Next(bg)
					b, e2 := l.Next(bg)
					if e1 == io.EOF && e2 == io.EOF {
						break
					}
					if e1 != nil || e2 != nil {
						t.Fatal(e1, e2)
					}
					if !slices.Equal(raw.IDs(), b.IDs()) {
						t.Fatalf("samples %v, want %v", b.IDs(), raw.IDs())
					}
					for _, id := range b.IDs()[:b.Rows()] {
						seen[id] = true
					}
					have := fetch(t, b)
					sameCasts(t, l, have, raw)
					raw.Release()
					b.Release()
				}
			}
			if len(seen) != 101 {
				t.Errorf("%d samples of 101", len(seen))
			}
			s := l.Stats()
			if some := s.Kept > 0 && s.Kept < 101; some != part {
				t.Errorf("%d samples of 101 are kept on the device", s.Kept)
			}
			if kernel := c.Tier == TierDevice || l.from.Windows != nil && c.DeviceMemory == 0; kernel != (s.DeviceMemory > 0) {
				t.Errorf("%d bytes on the device", s.DeviceMemory)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if n, m := l.meter.Usage.Host.Load(), l.meter.Usage.Device.Load(); n != 0 || m != 0 {
				t.Errorf("%d bytes of memory and %d of the device are not given back", n, m)
			}
		})
	}
}

func TestDeviceMemoryIsNotTakenUnasked(t *testing.T) {
	useFakeDriver(t)
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[8]", samples: 100}))
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Tier: TierDevice}, "DeviceMemory"},
		{Config{Tier: TierDevice, DeviceMemory: 100}, "DeviceMemory is 100"},
		{Config{Tier: TierDevice, DeviceMemory: 1 << 20, Device: "host"}, "want a GPU"},
	} {
		c.config.Batch = 5
		if _, err := d.Loader(c.config); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
	l := mustLoader(t, d, Config{Batch: 5})
	if err := wholeOf(l); err != nil || l.Stats().DeviceMemory != 0 || l.from.Tier != TierPinned {
		t.Errorf("tier %s, %+v, %v", l.from.Tier, l.Stats(), err)
	}
	if l := mustLoader(t, d, Config{Batch: 5, DeviceMemory: 1 << 20}); l.from.Tier != TierDevice || l.Stats().Kept != 100 {
		t.Errorf("tier %s: %v", l.from.Tier, l.Notes())
	}
	if l := mustLoader(t, d, Config{Batch: 5, DeviceMemory: 1000, Shuffle: Global}); l.from.Tier != TierDevice || l.Stats().Kept != 16 {
		t.Errorf("tier %s: %v", l.from.Tier, l.Notes())
	}
	if l := mustLoader(t, d, Config{Batch: 5, DeviceMemory: 1000, Shuffle: Block}); l.from.Tier != TierPinned {
		t.Errorf("tier %s: %v", l.from.Tier, l.Notes())
	}
	if l := mustLoader(t, d, Config{Batch: 5, DeviceMemory: 1000, Tier: TierStream, Shuffle: Block}); !strings.Contains(notes(l), "do not fit") {
		t.Errorf("%s", notes(l))
	}
}

// wholeOf reads an epoch on a device.
func wholeOf(l *Loader) error {
	for {
		b, err := l.Next(bg)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := errors.Join(b.Ready(0), b.ReleaseOn(0)); err != nil {
			return err
		}
	}
}

func TestDamageOnTheWayToTheDeviceIsAnError(t *testing.T) {
	race.Sequential(t)
	useFakeDriver(t)
	for format, ext := range map[string]string{index.FormatMmap: "*.safetensors", index.FormatWDS: "*.tar"} {
		dir := makeSet(t, setOptions{format: format, schema: everyKind[format], samples: 24, shard: 12})
		name := shardsOf(t, dir, ext)[1]
		good, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(good); i += 1 + len(good)/40 {
			bad := slices.Clone(good)
			bad[i] ^= 4
			if err := os.WriteFile(name, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			l := mustLoader(t, mustOpen(t, dir), Config{Batch: 5, Last: Pad, Tier: TierDevice, DeviceMemory: 1 << 20, Device: "cuda:0"})
			if err := wholeOf(l); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
				t.Fatalf("%s: byte %d flipped: %v", format, i, err)
			}
			if i == 0 { // repaired, a second attempt fills the tier again
				if err := os.WriteFile(name, good, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(l.SetEpoch(0), wholeOf(l)); err != nil {
					t.Error(err)
				}
			}
			l.Close()
		}
	}
}

// TestMakersOnTheDevice: one goroutine makes batches that the GPU gathers alone, whatever Depth
// is; where the host has a part, as many do as may work.
func TestMakersOnTheDevice(t *testing.T) {
	useFakeDriver(t)
	fixed := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2]", samples: 40}))
	lists := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[2],h:f32*", samples: 40}))
	for _, depth := range []int{1, 3, 9} {
		for _, c := range []struct {
			d    *Dataset
			more Config
			want int
		}{
			{fixed, Config{Tier: TierDevice, DeviceMemory: 1 << 20, Shuffle: Global}, 1},
			{fixed, Config{Tier: TierStream, Shuffle: Block}, 1},
			{fixed, Config{Tier: TierStream, Shuffle: Global}, 5},
			{fixed, Config{Tier: TierDevice, DeviceMemory: 1 << 20, Weights: slices.Repeat([]float64{1}, 40)}, 5},
			{lists, Config{Tier: TierDevice, DeviceMemory: 1 << 20, Shuffle: Global}, 5},
		} {
			c.more.Batch, c.more.Depth, c.more.Workers, c.more.Device = 4, depth, 5, "cuda:0"
			if l := mustLoader(t, c.d, c.more); l.queue.makers != c.want {
				t.Errorf("depth %d, %+v: %d batches at a time, want %d", depth, c.more, l.queue.makers, c.want)
			}
		}
	}
}

// TestTokensOnTheDevice: samples of a stream of tokens are on a device what they are on the host.
func TestTokensOnTheDevice(t *testing.T) {
	useDevice(t)
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMegatron, schema: "tok:u16*", samples: 200, shard: 45, seed: 3}))
	eachWay(t, func(t *testing.T, c Config) {
		c.Batch, c.Last, c.Tokens, c.Cast = 7, Pad, "16,offset=random,labels=shift", map[string]Cast{"tok": {DType: shardify.I64}}
		c.Device = "host"
		host := mustLoader(t, d, c)
		c.Device = "cuda:0"
		l := mustLoader(t, d, c)
		for range host.Steps() {
			want, err := host.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.Next(bg)
			if err != nil {
				t.Fatal(err)
			}
			have := fetch(t, b)
			for _, name := range []string{"tok", "labels"} {
				x, err := have.Tensor(name)
				if err != nil {
					t.Fatal(err)
				}
				if w := want.Host(name); !slices.Equal(x.Data, w) || len(w) != 7*16*8 {
					t.Fatalf("step %d, %s: %x, want %x", b.Index(), name, x.Data, w)
				}
			}
			want.Release()
			b.Release()
		}
	})
}
