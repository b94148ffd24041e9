//go:build !cuda || !linux

package gpuload

import "fmt"

// A program that opens the driver is linked dynamically, so only builds with the
// tag cuda do.
func openCUDA(name string) (device, error) {
	return nil, fmt.Errorf("device %s: %w: built without the tag cuda", name, ErrNoDriver)
}

func autoDevice() (device, error) { return hostDevice{}, nil }
