//go:build !race

package memory

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shardify/shardify/internal/host"
)

// TestALimitOfTheAddressSpaceIsNamed: Linux says no more than that there is no memory.
func TestALimitOfTheAddressSpaceIsNamed(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &old); err != nil || old.Cur != unix.RLIM_INFINITY {
		t.Skip(err, old)
	}
	machine := host.Env{Getenv: os.Getenv}
	limited := old
	limited.Cur = 8 << 30 // far more than is in use, and less than is wanted
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limited); err != nil {
		t.Fatal(err)
	}
	_, err := Plain(8 << 30)
	room, ok := machine.AddressSpace()
	if err := unix.Setrlimit(unix.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	if !ok || room <= 0 || !errors.Is(err, unix.ENOMEM) || !strings.Contains(err.Error(), "allocating 8 GiB") || !strings.Contains(err.Error(), "(ulimit -v)") {
		t.Errorf("%d of the address space are left, and the error is %v", room, err)
	}
}
