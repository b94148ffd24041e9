package gpuload

import "unsafe"

// address is where a slice lies; 0 if it is empty.
func address(b []byte) uintptr {
	if len(b) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}
