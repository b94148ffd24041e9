package trainer

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// usage is what this process has used so far.
type usage struct {
	at      time.Time
	cpu     float64 // seconds, user and system
	storage int64   // bytes that came from storage rather than from memory; -1 unknown
}

func usageNow() usage {
	u := usage{at: time.Now(), storage: -1}
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.cpu = float64(r.Utime.Nano()+r.Stime.Nano()) * 1e-9
	}
	b, _ := os.ReadFile("/proc/self/io")
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("read_bytes: ")); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(v)), 10, 64); err == nil {
				u.storage = n
			}
		}
	}
	return u
}
