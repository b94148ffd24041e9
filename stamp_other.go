//go:build !linux

package shardify

import "io/fs"

func stampOf(fs.FileInfo) stamp { return stamp{} }

func numbersLast(string) bool { return false }
