package load

import "unsafe"

// Address is where a slice is; 0 if it is empty.
func Address(b []byte) uintptr {
	if len(b) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}
