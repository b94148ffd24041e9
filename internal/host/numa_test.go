package host

import (
	"slices"
	"testing"

	"github.com/shardify/shardify/tests/programs"
)

func TestTheNodeOfADevice(t *testing.T) {
	e := fakeRoot(t, map[string]string{
		"sys/bus/pci/devices/0000:ff:1f.7/numa_node":   "1\n",
		"sys/bus/pci/devices/0000:01:00.0/numa_node":   "-1\n",
		"sys/devices/system/node/node1/cpulist":        "4-6,12\n",
		"sys/devices/system/node/node2/cpulist":        "\n",
		"sys/devices/system/node/node3/cpulist":        "7-3\n",
		"sys/devices/system/node/node4/cpulist":        "0-99999999\n",
		"sys/bus/pci/devices/0000:02:00.0/numa_node":   "one\n",
		"sys/devices/system/node/node5/cpulist":        "9",
		"sys/bus/pci/devices/0000:03:00.0/numa_node":   "0",
		"sys/bus/pci/devices/unrelated/something_else": "",
	})
	for pci, want := range map[string]int{"0000:FF:1F.7": 1, "0000:01:00.0": -1, "0000:02:00.0": -1, "0000:03:00.0": 0, "0000:09:00.0": -1} {
		if n := e.Node(pci); n != want {
			t.Errorf("%s is at node %d, want %d", pci, n, want)
		}
	}
	for node, want := range map[int][]int{1: {4, 5, 6, 12}, 2: nil, 3: nil, 4: nil, 5: {9}, 6: nil, -1: nil} {
		if c := e.NodeCores(node); !slices.Equal(c, want) {
			t.Errorf("node %d has cores %v, want %v", node, c, want)
		}
	}
}

func fakeRoot(t *testing.T, files map[string]string) Env {
	return Env{Root: programs.Tree(t, files), Getenv: func(string) string { return "" }}
}

func TestWhatMayBePinned(t *testing.T) {
	const locked = "Limit                     Soft Limit           Hard Limit           Units\nMax locked memory         8388608              8388608              bytes\n"
	group := map[string]string{
		"proc/meminfo": meminfo, "proc/self/mountinfo": v2mount, "proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/memory.max": "4194304\n",
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
		from  string
	}{
		{"nothing is known", nil, 0, ""},
		{"a user", map[string]string{"proc/self/limits": locked}, 8 << 20, "ulimit -l"},
		{"one that may lock all", map[string]string{"proc/self/limits": locked, "proc/self/status": "CapEff:\t0000000000004000\n"}, 0, ""},
		{"one that may do other things", map[string]string{"proc/self/limits": locked, "proc/self/status": "CapEff:\t0000000000002000\n"}, 8 << 20, "ulimit -l"},
		{"no limit", map[string]string{"proc/self/limits": "Max locked memory         unlimited            unlimited            bytes\n"}, 0, ""},
		{"a control group", group, 4 << 20, "cgroup memory.max"},
	} {
		if n, from := fakeRoot(t, c.files).Pinnable(); n != c.want || from != c.from {
			t.Errorf("%s: %d by %q, want %d by %q", c.name, n, from, c.want, c.from)
		}
	}
}
