// Package store publishes files so that nobody ever sees half of one.
//
// [Dir] is a folder on disk: write under a temporary name, fsync, link under the
// final name, fsync the folder. [Mem] keeps files in memory for tests, and
// [Fault] makes the i-th operation of another store fail. [Spill] is a scratch
// file for data whose final place is not known yet.
package store

import (
	"fmt"
	"path"
	"strings"
)

// Private is the folder below a data set that readers never look into.
const Private = ".shardify"

// tempDir is where files are written before they have their final name.
const tempDir = Private + "/tmp"

// CheckName refuses a name that is not a clean slash path below the root.
func CheckName(name string) error {
	if name == "" || name == "." || path.Clean("/"+name) != "/"+name || strings.ContainsRune(name, 0) {
		return fmt.Errorf("file name %q is not a path below the data set's folder", name)
	}
	return nil
}

func isTemp(name string) bool { return name == tempDir || strings.HasPrefix(name, tempDir+"/") }
