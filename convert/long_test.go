package convert_test

import "os"

// long reports whether the long forms of tests are enabled: make test-long.
func long() bool { return os.Getenv("SHARDIFY_LONG") != "" }
