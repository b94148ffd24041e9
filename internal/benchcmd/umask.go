package benchcmd

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// umask is that of this process. The system call that tells it sets it, for all
// goroutines.
func umask() fs.FileMode {
	b, _ := os.ReadFile("/proc/self/status")
	_, v, _ := strings.Cut(string(b), "\nUmask:")
	v, _, _ = strings.Cut(v, "\n")
	if n, err := strconv.ParseUint(strings.TrimSpace(v), 8, 9); err == nil {
		return fs.FileMode(n)
	}
	return 0o022
}
