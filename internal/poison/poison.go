// Package poison fills released memory with rubbish in tests, so that code that reads it after its
// release sees wrong values.
package poison

// On reports whether this program does so: one that the race detector watches, and one that is
// linked with -X github.com/shardify/shardify/internal/poison.on=yes. Were it a build tag, nearly
// every package would be compiled twice for the tests.
func On() bool { return on != "" }

// Fill fills b with rubbish, if this is On.
func Fill(b []byte) {
	if on == "" {
		return
	}
	for i := range b {
		b[i] = 0xdb
	}
}
