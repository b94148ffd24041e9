package convert_test

import "os"

// long tells whether the long forms of tests were asked for: make test-long.
func long() bool { return os.Getenv("SHARDIFY_LONG") != "" }
