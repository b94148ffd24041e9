//go:build race || invariants

package load

// Poison fills a released slot with rubbish, so that a test which reads it after
// Release sees wrong values.
func Poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
