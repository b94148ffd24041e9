//go:build !cuda || !linux

package device

import (
	"fmt"

	"github.com/shardify/shardify"
)

// A program that opens the driver is linked dynamically, so only builds with the
// tag cuda do.
func openCUDA(name string) (Device, error) {
	return nil, fmt.Errorf("device %s: %w: built without the tag cuda", name, ErrNoDriver)
}

func autoDevice() (Device, error) { return Host{}, nil }

// Pixels needs a GPU.
func Pixels(name string, stream Stream, f *PixelForm, list []byte) error {
	_, err := openCUDA(name)
	return err
}

// Dense needs a GPU.
func Dense(name string, stream Stream, words []uint64, indices shardify.DType) error {
	_, err := openCUDA(name)
	return err
}
