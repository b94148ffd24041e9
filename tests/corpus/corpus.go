// Package corpus finds files of real data sets with expected values beside them. They
// are not part of the repository: tests that want them skip where they are absent.
package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Path is the folder of a format's corpus, whether it exists or not: what
// SHARDIFY_CORPUS_HDF5 and its like say, else ../shared/corpus/hdf5 beside the
// repository.
func Path(format string) string {
	if dir := os.Getenv(variable(format)); dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "corpus", format)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// Dir is Path where the corpus is there, and skips the test where it is not.
func Dir(t testing.TB, format string) string {
	t.Helper()
	dir := Path(format)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus: %v (%s names its folder)", err, variable(format))
	}
	return dir
}

func variable(format string) string { return "SHARDIFY_CORPUS_" + strings.ToUpper(format) }
