//go:build !linux

package memory

// Allocate returns n zero bytes. Blocks of the Go heap that hold no pointers are
// aligned well enough from 64 bytes on.
func Allocate(n int64) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	return make([]byte, n, max(n, 64)), nil
}

// Plain is Allocate.
func Plain(n int64) ([]byte, error) { return Allocate(n) }

// Release does nothing here.
func Release([]byte) {}
