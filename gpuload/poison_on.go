//go:build race || invariants

package gpuload

// poison fills a released slot with rubbish, so that a test which reads it after
// Release sees wrong values.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}
