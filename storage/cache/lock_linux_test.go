package cache

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestAClaimEndsWithItsFetch, also where a child of a fork has its file open still.
func TestAClaimEndsWithItsFetch(t *testing.T) {
	dir := t.TempDir()
	c := mustOpen(t, dir, LeastSize)
	release := c.Content(name(1), stamp(1<<20)).Claim(context.Background(), 0, 100)
	list, _ := filepath.Glob(filepath.Join(dir, folder, "claims", "*"))
	if len(list) != 1 {
		t.Fatalf("claims: %v", list)
	}
	f, err := os.OpenFile(list[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	switch own, taken := tryRange(f, 50, 10); {
	case own:
		t.Fatal("a claimed range is free")
	case !taken:
		t.Skip("this system has no locks of ranges")
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	child := -1
	for _, e := range fds {
		n, _ := strconv.Atoi(e.Name())
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if !strings.HasSuffix(to, "/claims/"+filepath.Base(list[0])) || uintptr(n) == f.Fd() {
			continue
		}
		if child, err = syscall.Dup(n); err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(child)
		break
	}
	if child < 0 {
		t.Fatal("the file of the claim is not open")
	}
	release()
	if own, _ := tryRange(f, 50, 10); !own {
		t.Error("the range is claimed after the fetch has ended")
	}
}

// TestNobodyWaitsForLocksThatThereAreNot: an error of the system is no claim of another.
func TestNobodyWaitsForLocksThatThereAreNot(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name) // which cannot be locked for writing
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if own, taken := tryRange(f, 0, 10); own || taken {
		t.Errorf("own %t, taken %t", own, taken)
	}
}
