//go:build linux

package cuda

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/fakecuda"
)

func TestWhatIsNoUsableDriverSaysSo(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		flags      []string
		device     int
		want       error
		says       string
	}{
		{"a symbol missing", "", []string{"-DFAKECUDA_MISSING"}, 0, ErrNoDriver, "has no cuMemHostRegister_v2"},
		{"the toolkit's stub", "stub", nil, 0, ErrNoDriver, "cuInit: CUDA error 34 CUDA_ERROR_STUB_LIBRARY"},
		{"no GPU", "nodevice", nil, 0, ErrNoDevice, "cuInit: CUDA error 100"},
		{"too high an ordinal", "", nil, 3, ErrNoDevice, "cuda:3 of 1"},
		{"a driver older than the kernels", "oldptx", nil, 0, nil, "cuModuleLoadDataEx: CUDA error 222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the driver is older than the embedded kernels: ptxas fatal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, c.flags...)
			f.Configure(fakecuda.Mode, c.mode)
			d, err := Open(Options{Library: f.Path, Device: c.device, NoCalibration: true})
			if err == nil {
				d.Close()
				t.Fatal("it opened")
			}
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v: want %v with %q", err, c.want, c.says)
			}
			f.End(t)
		})
	}
	t.Run("no library", func(t *testing.T) {
		_, err := Open(Options{Library: "/nowhere/libcuda.so.1"})
		if !errors.Is(err, ErrNoDriver) || !strings.Contains(err.Error(), "/nowhere/libcuda.so.1: cannot open") {
			t.Error(err)
		}
	})
	t.Run("by the environment", func(t *testing.T) {
		t.Setenv(LibraryVariable, "/nowhere/else/libcuda.so.1")
		if _, err := Open(Options{}); !errors.Is(err, ErrNoDriver) || !strings.Contains(err.Error(), "/nowhere/else") {
			t.Error(err)
		}
	})
}

func TestInfo(t *testing.T) {
	d := newFake(t).open(t, Options{})
	i := d.Info()
	if i.Name != "Fake GPU" || i.PCI != "0000:FF:1F.7" || i.Capability != [2]int32{9, 0} || i.Driver != 13000 || i.Multiprocessors != 20 || i.NUMA != -1 ||
		i.UUID != "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f" || i.Memory != 1<<30 || d.String() != "cuda:0" {
		t.Errorf("%+v", i)
	}
	if free, total, err := d.MemoryInfo(); err != nil || free != 1<<30 || total != 1<<30 {
		t.Error(free, total, err)
	}
	// What only a driver call of a later day will use must still be bound right.
	b := alloc(t, d, 100)
	check(t, d.do(func() error {
		from, err4 := d.drv.eventCreate(eventBlockingSync)
		to, err5 := d.drv.eventCreate(eventBlockingSync)
		err6 := errors.Join(d.drv.eventRecord(from, d.gathers), d.drv.launch(d.kernels["spin"], 1, 1, d.gathers, []uint64{3e6}), d.drv.eventRecord(to, d.gathers), d.drv.eventSynchronize(to))
		ms, err7 := d.drv.eventElapsed(from, to)
		if ms < 3 || ms > 3000 {
			t.Errorf("a kernel of 3 ms took %v", ms)
		}
		err := errors.Join(err4, err5, err6, err7, d.drv.eventDestroy(from), d.drv.eventDestroy(to))
		n, err2 := d.drv.occupancy(d.kernels["spin"], 256)
		k, err3 := d.drv.pointer(attrMemoryType, addressOf(b))
		if n != 8 || k != 1 {
			t.Errorf("occupancy %d, want 8; memory type %d, want 1", n, k)
		}
		return errors.Join(err, err2, err3)
	}))
}

func TestADeviceThatIsClosedAnswersSo(t *testing.T) {
	f := newFake(t)
	d := f.open(t, Options{})
	b := alloc(t, d, 1<<20)
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{10}})
	check(t, err)
	w, err := d.NewWindow(10)
	check(t, err)
	check(t, d.Close())
	f.End(t)
	if _, err := d.Alloc(1, 0); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	if err := s.Send(0, nil); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	for _, err := range []error{d.Close(), s.Close(), w.Close(), d.Free(b)} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestALostContextIsReportedWithWhatWasInFlight(t *testing.T) {
	f := newFake(t)
	d := f.open(t, Options{})
	b := alloc(t, d, 4096)
	s, err := d.NewSlot(SlotOptions{Tensors: []int64{4096}})
	check(t, err)
	check(t, s.Send(0, b))
	check(t, s.Done("batch 7"))
	f.Configure(fakecuda.Fail, "cuEventSynchronize:1:700")
	err = s.Wait(t.Context())
	if want := "cuEventSynchronize: CUDA error 700 CUDA_ERROR_ILLEGAL_ADDRESS (in flight: batch 7)"; err == nil || err.Error() != want || !errors.Is(err, errLost) {
		t.Errorf("%v: want %s", err, want)
	}
	n := f.Calls()["cuMemAlloc_v2"]
	if _, err := d.NewWindow(1); !errors.Is(err, errLost) {
		t.Error(err)
	}
	if f.Calls()["cuMemAlloc_v2"] != n {
		t.Error("the driver was called after its context was lost")
	}
}
