package fakecuda

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"
)

// Line logs a figure, and appends it to $SHARDIFY_GPU_LINES as one line of JSON at once: a
// bench that is cut keeps what it had.
func Line(t testing.TB, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", b)
	path := os.Getenv("SHARDIFY_GPU_LINES")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(append(b, '\n')); err != nil {
		t.Fatal(err)
	}
	f.Sync()
}

// Seconds is how long a bench may take: $SHARDIFY_GPU_SECONDS, if that is set.
func Seconds(d time.Duration) time.Duration {
	if s, err := strconv.ParseFloat(os.Getenv("SHARDIFY_GPU_SECONDS"), 64); err == nil {
		return time.Duration(s * float64(time.Second))
	}
	return d
}
