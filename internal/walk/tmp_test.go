package walk

import (
	"context"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestTmpTree(t *testing.T) {
	dir := os.Getenv("TREE")
	if dir == "" {
		t.Skip()
	}
	for _, ns := range []bool{false, true} {
		t0 := time.Now()
		var u0, u1 syscall.Rusage
		syscall.Getrusage(0, &u0)
		tab, _, err := Walk(context.Background(), Request{Inputs: []string{dir}, NoStat: ns})
		syscall.Getrusage(0, &u1)
		if err != nil {
			t.Fatal(err)
		}
		st, _ := os.ReadFile("/proc/self/status")
		i := strings.Index(string(st), "VmHWM")
		var ms runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&ms)
		t.Logf("nostat %v: %d files %v, user %v sys %v, %s live %d MiB", ns, tab.Len(), time.Since(t0), time.Duration(u1.Utime.Nano()-u0.Utime.Nano()), time.Duration(u1.Stime.Nano()-u0.Stime.Nano()), strings.SplitN(string(st[i:]), "\n", 2)[0], ms.HeapAlloc>>20)
		runtime.KeepAlive(tab)
	}
}
