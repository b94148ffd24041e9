package host

import (
	"os"
	"strconv"
	"strings"
)

// WrittenBack is the bytes that the system has written to disks and servers since it started, of
// files of all processes; 0 where it does not report that.
func WrittenBack() int64 {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "nr_written "); ok {
			pages, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			if err != nil {
				return 0
			}
			return pages * int64(os.Getpagesize())
		}
	}
	return 0
}
