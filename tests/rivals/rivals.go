// Package rivals runs benchmarks of a library beside its rivals, by processor time.
package rivals

import (
	"syscall"
	"testing"
)

// Run is b.Run for one contender, whose name is CASE/CONTENDER; "ours" is ours. f works on so many bytes; 0 is
// not known. The metric cpu-ns/op is the time that the process has had of processors.
func Run(b *testing.B, name string, bytes int64, f func() error) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(bytes)
		before := processor(b)
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(processor(b)-before)/float64(b.N), "cpu-ns/op")
	})
}

func processor(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
