package gpuload

import "os"

// long reports whether the long forms of tests were asked for: make test-long.
func long() bool { return os.Getenv("SHARDIFY_LONG") != "" }
