package local

import (
	"io/fs"
	"os"
	"path/filepath"
)

// IsLink reports whether a path is a symbolic link.
func IsLink(path string) (bool, error) {
	st, err := os.Lstat(path)
	return err == nil && st.Mode()&fs.ModeSymlink != 0, err
}

// RealPath is the absolute path of a file, links followed.
func RealPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// Glob are the paths that match a pattern, as path.Match has it.
func Glob(pattern string) []string {
	found, _ := filepath.Glob(pattern) // a bad pattern finds nothing
	return found
}
