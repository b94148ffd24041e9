package gpuload

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
)

// target is the device that batches are delivered on.
type target struct {
	Dev     device.Device
	Host    bool
	GPU     device.GPU // nil on the host
	Gathers device.GPU // gathers batches by itself: not windows, which the host gathers; else nil
}

func openTarget(name string, windows bool) (*target, error) {
	dev, err := device.Open(name)
	if err != nil {
		return nil, err
	}
	d := &target{Dev: dev}
	_, d.Host = dev.(device.Host)
	if d.GPU, _ = dev.(device.GPU); !windows {
		d.Gathers = d.GPU
	}
	return d, nil
}

// bind keeps the calling goroutine on its thread, made ready for the device, until unbind.
func (d *target) bind() (unbind func()) {
	if d.GPU == nil {
		return func() {}
	}
	return d.GPU.Bind()
}

// near has host memory copied by the cores of the GPU's NUMA node, whose memory it is.
func (d *target) near(crew *load.Crew, notes *noteList) {
	if d.Host {
		return
	}
	node := device.Describe(d.Dev).NUMA
	if n := crew.Near(device.Machine.NodeCores(node)); n > 0 {
		notes.add("batches are made on %d of %d cores, those of NUMA node %d, which %s hangs on", n, load.CoresAllowed(), node, d.Dev)
	}
}

// notePinned says where more host memory is to be pinned than this process may.
func (d *target) notePinned(tier Tier, n int64, notes *noteList) {
	limit, from := device.Machine.Pinnable()
	if !d.Host && limit > 0 && n > limit {
		notes.add("tier %s pins about %s of host memory, and %s allows %s: raise it, or choose tier stream", tier, shardify.FormatSize(n), from, shardify.FormatSize(limit))
	}
}

// held is, by tensor of what is read, what the GPU keeps in its own memory.
func (d *target) held(w *samples) []bool {
	absent := make([]bool, len(w.Layout.Tensors))
	for i := range absent {
		var k *load.Caster
		if w.Casts != nil {
			k = w.Casts[i]
		}
		absent[i] = d.Gathers.Holds(&w.Layout.Tensors[i], k)
	}
	return absent
}

// Probe opens a device as a Loader would, measures it, and closes it again.
func Probe(name string) (DeviceInfo, error) {
	d, err := device.Open(name)
	if err != nil {
		return device.Info{}, err
	}
	info := device.Describe(d)
	return info, d.Close()
}
