//go:build !linux

package local

import "os"

func openBelow(folder, name string) *os.File { return nil }
