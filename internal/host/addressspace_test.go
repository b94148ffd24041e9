package host

import (
	"testing"

	"github.com/shardify/shardify/tests/programs"
)

// TestAddressSpaceBoundsTheMemory: half of what is left, as the runtime reserves more than it uses.
func TestAddressSpaceBoundsTheMemory(t *testing.T) {
	files := map[string]string{
		"proc/meminfo":     meminfo,
		"proc/self/limits": "Limit                     Soft Limit           Hard Limit           Units     \nMax address space         2147483648           unlimited            bytes     \n",
		"proc/self/status": "VmPeak:\t 1048576 kB\nVmSize:\t 1048576 kB\n",
	}
	if room, limited := (Env{Root: programs.Tree(t, files)}).AddressSpace(); room != 1<<30 || !limited {
		t.Errorf("%d left, %v", room, limited)
	}
	if m := machine(t, 4, nil, files); m.Memory != 512<<20 || m.MemoryFrom != "ulimit -v" {
		t.Errorf("%+v", m)
	}
	files["proc/self/limits"] = "Max address space         unlimited            unlimited            bytes     \n"
	if _, limited := (Env{Root: programs.Tree(t, files)}).AddressSpace(); limited {
		t.Error("unlimited is a limit")
	}
	if m := machine(t, 4, nil, files); m.MemoryFrom != "MemAvailable" {
		t.Errorf("%+v", m)
	}
}
