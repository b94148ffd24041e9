//go:build cuda && linux

package gpuload

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/fakecuda"
	"github.com/shardify/shardify/tests/programs"
)

// onMachine gives the device another /sys and /proc.
func onMachine(t *testing.T, files map[string]string) {
	old := device.Machine
	device.Machine.Root = programs.Tree(t, files)
	t.Cleanup(func() { device.Machine = old })
}

const locked8K = "Max locked memory         8192                 8192                 bytes\n"

// Host memory is on the GPU's NUMA node, and is copied by its cores.
func TestTheDevicesNodeCopies(t *testing.T) {
	useFakeDriver(t)
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || set.Count() < 2 {
		t.Skip("this process may use one core only")
	}
	core := 0
	for !set.IsSet(core) {
		core++
	}
	onMachine(t, map[string]string{
		"sys/bus/pci/devices/0000:ff:1f.7/numa_node": "1\n", "sys/devices/system/node/node1/cpulist": fmt.Sprintf("%d,9999\n", core),
	})
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 100}))
	l := mustLoader(t, d, Config{Batch: 8, Device: "cuda:0"})
	if n := l.Device().NUMA; n != 1 {
		t.Errorf("the device is at node %d, want 1", n)
	}
	if !strings.Contains(notes(l), fmt.Sprintf("on 1 of %d cores, those of NUMA node 1, which cuda:0 hangs on", set.Count())) {
		t.Errorf("notes %q", notes(l))
	}
	unbind := l.from.Crew.Bind()
	var now unix.CPUSet
	if err := unix.SchedGetaffinity(0, &now); err != nil || now.Count() != 1 || !now.IsSet(core) {
		t.Errorf("a maker runs on %d cores, want core %d", now.Count(), core)
	}
	unbind()
	if err := unix.SchedGetaffinity(0, &now); err != nil || now != set {
		t.Error("the thread kept its binding")
	}
	if err := wholeOf(l); err != nil {
		t.Error(err)
	}
	// A node with all cores, or with none that this process may use, changes nothing.
	for _, list := range []string{"0-1023\n", "9999\n", ""} {
		onMachine(t, map[string]string{"sys/bus/pci/devices/0000:ff:1f.7/numa_node": "1\n", "sys/devices/system/node/node1/cpulist": list})
		if l := mustLoader(t, d, Config{Batch: 8, Device: "cuda:0"}); strings.Contains(notes(l), "NUMA") {
			t.Errorf("cores %q: notes %q", list, notes(l))
		}
	}
}

// A limit of pinned memory is reported before pinning is tried, and where it fails.
func TestALimitOfPinnedMemoryIsToldOfTheDevice(t *testing.T) {
	fake := useFakeDriver(t)
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[64]", samples: 100}))
	c := Config{Batch: 8, Device: "cuda:0", Tier: TierPinned, Verify: load.VerifyNone}
	onMachine(t, map[string]string{"proc/self/limits": locked8K})
	if l := mustLoader(t, d, c); !strings.Contains(notes(l), "tier pinned pins about 25 KiB of host memory, and ulimit -l allows 8 KiB") {
		t.Errorf("notes %q", notes(l))
	}
	fake.Configure(fakecuda.Mode, "noregister")
	fake.Configure(fakecuda.Fail, "cuMemHostAlloc:1:2")
	err := wholeEpoch(d, c)
	fake.Configure(fakecuda.Mode, "")
	if err == nil || !strings.Contains(err.Error(), "(ulimit -l allows this process 8 KiB)") {
		t.Errorf("%v", err)
	}
	onMachine(t, map[string]string{"proc/self/limits": locked8K, "proc/self/status": "CapEff:\t000001ffffffffff\n"})
	if l := mustLoader(t, d, c); strings.Contains(notes(l), "ulimit") {
		t.Errorf("notes %q", notes(l))
	}
}
