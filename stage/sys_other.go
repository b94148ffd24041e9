//go:build !linux

package stage

import "os"

func sequential(*os.File) {}

func inMemory(string) bool { return false }

func mounted(string) bool { return false }

func sameFileSystem(string, string) bool { return false }
