//go:build cuda && linux

package gpuload

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/cuda"
	"github.com/shardify/shardify/index"
)

// useFakeDriver makes cuda:0 the driver of internal/cuda/testdata/fakecuda, whose
// device memory is host memory. Its streams are slow, so that what reads too early
// reads something else.
func useFakeDriver(t testing.TB) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to build the fake driver with")
	}
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	if out, err := exec.Command(cc, "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-DFAKECUDA_BATCH=2", "-o", path,
		"internal/cuda/testdata/fakecuda/fakecuda.c", "-lpthread", "-lm").CombinedOutput(); err != nil {
		t.Skipf("the C compiler cannot build the fake driver: %v\n%s", err, out)
	}
	t.Setenv(cuda.LibraryVariable, path)
	t.Setenv("FAKECUDA_DELAY", "150") // microseconds; seen where Go and C share an environment
}

// fetch waits for a batch on the device and returns it as one of the host.
func fetch(t testing.TB, b *Batch) *Batch {
	t.Helper()
	s := b.slot
	if err := b.Ready(0); err != nil {
		t.Fatal(err)
	}
	if err := s.device.(*cudaSlot).Wait(bg); err != nil {
		t.Fatal(err)
	}
	for i := range s.table.data {
		at := b.loader.dev.tensor(s, i)
		if to := s.table.bytes(i); len(to) > 0 {
			copy(to, unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), len(to)))
		}
	}
	return &Batch{loader: &Loader{dev: hostDevice{}, onHost: true}, slot: s}
}

func TestTheDeviceDeliversEverySampleBitExact(t *testing.T) {
	useFakeDriver(t)
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
						comparePadding(t, b)
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

// comparePadding: fixed fields of rows behind the last sample are zeros.
func comparePadding(t testing.TB, b *Batch) {
	t.Helper()
	tb := b.slot.table
	for i := range tb.layout.Tensors {
		if tb.layout.Tensors[i].Lead != index.LeadSamples {
			continue
		}
		for _, v := range tb.part(i, int64(b.Rows()), tb.rows) {
			if v != 0 {
				t.Fatalf("padding of tensor %s is %d", tb.layout.Tensors[i].Name, v)
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
	dev := l.dev.(*cudaDevice)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	x := fetch(t, b).Host("x")
	if len(x) != 80 || len(shardify.View[int64](x)) != 10 {
		t.Errorf("%d bytes", len(x))
	}
	b.Release()
	if n := dev.gpu.Pinned(); n != 0 || dev.err != nil {
		t.Errorf("%d bytes are still pinned, error %v", n, dev.err)
	}
}

func TestWithoutADriverAutoIsTheHost(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, "/nowhere/libcuda.so.1")
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100, shard: 30})
	d := mustOpen(t, dir)
	if l := mustLoader(t, d, Config{Batch: 10}); l.dev.String() != "host" {
		t.Errorf("device %s", l.dev)
	}
	if _, err := d.Loader(Config{Batch: 10, Device: "cuda:0"}); !errors.Is(err, ErrNoDriver) {
		t.Errorf("%v: want ErrNoDriver", err)
	}
	useFakeDriver(t)
	if l := mustLoader(t, d, Config{Batch: 10}); l.dev.String() != "cuda:0" {
		t.Errorf("device %s", l.dev)
	}
	if _, err := d.Loader(Config{Batch: 10, Device: "cuda:1"}); !errors.Is(err, ErrNoDevice) {
		t.Errorf("%v: want ErrNoDevice", err)
	}
}

// TestEveryDeviceFailureStopsTheLoader fails the n-th call of functions that a Loader
// uses: a clear error, no hang, nothing left pinned.
func TestEveryDeviceFailureStopsTheLoader(t *testing.T) {
	useFakeDriver(t)
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[3],hits:f32*", samples: 120, shard: 50})
	d := mustOpen(t, dir)
	h, err := purego.Dlopen(os.Getenv(cuda.LibraryVariable), purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		t.Fatal(err)
	}
	var configure func(key, value string)
	var alive func(out *byte, n uint64)
	purego.RegisterLibFunc(&configure, h, "fakecuda_configure")
	purego.RegisterLibFunc(&alive, h, "fakecuda_alive")
	for _, name := range []string{"cuInit", "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuStreamWaitEvent", "cuEventRecord", "cuEventQuery", "cuLaunchKernel", "cuEventCreate", "cuModuleLoadDataEx"} {
		for _, n := range []int{1, 2, 7, 30} {
			for _, number := range []int{2, 700} {
				configure("FAKECUDA_FAIL", fmt.Sprintf("%s:%d:%d", name, n, number))
				err := wholeEpoch(d, Config{Batch: 8, Shuffle: Block, Window: 32, Streams: 2, Tier: TierStream, Device: "cuda:0"})
				configure("FAKECUDA_FAIL", "")
				if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%s: CUDA error %d", name, number)) {
					t.Errorf("%s, call %d, error %d: %v", name, n, number, err)
				}
				if err == nil && n < 3 && name != "cuEventQuery" && (name != "cuInit" || n == 1) && (name != "cuModuleLoadDataEx" || n == 1) {
					t.Errorf("%s, call %d, error %d: no error", name, n, number)
				}
				b := make([]byte, 200)
				alive(&b[0], uint64(len(b)))
				if s := string(b); !strings.HasPrefix(s, "registered 0, host 0, device 0, streams 0, events 0, modules 0, contexts 0") {
					t.Fatalf("%s, call %d, error %d: left behind: %s", name, n, number, s)
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
