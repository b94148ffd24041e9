package gpuload

import (
	"fmt"
	"runtime"

	"github.com/shardify/shardify/gpuload/internal/load"
)

// Stats is what a Loader has done since it was made. Seconds of reading, gathering
// and copying are sums over goroutines.
type Stats struct {
	Batches, Samples int64
	Bytes            int64 // delivered
	ReadBytes        int64
	// FirstWait is until the first batch; Fill the part of it that read
	// TierPinned. Wait is what the consumer waited for the batches after it, and Compute
	// what it did between them.
	FirstWait, Fill, Wait, Compute float64
	Read, Gather, Copy             float64
	// Utilization is that of the accelerator as DLIO defines it: Compute divided by
	// Compute and Wait, without the first batch. 0 if there were fewer than two.
	Utilization float64
	// Bound is what limits the rate: "read", "gather", "copy" or "consumer"; "" if
	// there were fewer than two batches.
	Bound string
	// Verdict is Bound in a sentence, with its likely cause.
	Verdict string
	Tier    Tier
	// Memory is the bytes of slots, windows and the Pinned tier; DeviceMemory those of
	// windows and the Device tier on the device, Staged the shards' in Config.Stage.
	Memory, DeviceMemory, Staged int64
	// Kept is the samples that the Device tier keeps on the device: all, or as many as fit.
	Kept int64
	// Stage is the seconds that copying them took, or waiting until another rank had.
	Stage   float64
	Workers int
	Cores   int // that this process may run on; 0 is unknown
}

// enough is the utilisation from which the consumer is what limits the rate.
const enough = 0.95

// Stats returns what was done so far.
func (l *Loader) Stats() Stats {
	s, read := l.meter.stats(l.from.Shards.ReadNanos.Load())
	s.ReadBytes = l.from.Shards.ReadBytes.Load()
	s.Tier, s.Kept = l.from.Tier, l.from.onDevice()
	s.Workers, s.Cores = l.from.Workers, load.CoresAllowed()
	if s.Batches > 1 && s.Compute+s.Wait > 0 {
		s.Utilization = s.Compute / (s.Compute + s.Wait)
		s.Bound, s.Verdict = s.judge(read, runtime.NumCPU())
	}
	return s
}

// judge finds the stage that took the most time, unless the consumer hardly waited.
// read is the seconds of reading while there were batches: those of filling a tier ended
// with the first one.
func (s *Stats) judge(read float64, cores int) (bound, verdict string) {
	if s.Utilization >= enough {
		return "consumer", fmt.Sprintf("bound by the consumer: it waited %.1f %% of the time", 100*(1-s.Utilization))
	}
	bound, most := "read", read
	if s.Gather > most {
		bound, most = "gather", s.Gather
	}
	if s.Copy > most {
		bound = "copy"
	}
	verdict = fmt.Sprintf("bound by %s: the consumer waited %.1f %% of the time", bound, 100*(1-s.Utilization))
	if s.Cores == 1 && cores > 1 {
		verdict += fmt.Sprintf("; this process may use 1 of %d cores (affinity mask): check --cpu-bind, taskset or cpusets", cores)
	}
	return bound, verdict
}
