package inspect

import (
	"strings"
	"testing"

	"github.com/shardify/shardify/dataset/stats"
)

// TestNPYNamesFilesOnce refuses fields whose figures would be in one file.
func TestNPYNamesFilesOnce(t *testing.T) {
	var r stats.Report
	for _, name := range []string{"a/b", "c", "a.b"} {
		r.Fields = append(r.Fields, stats.Field{Name: name, Values: &stats.Summary{}})
	}
	var files []string
	err := NPY(&r, func(name string, _ []byte) error { files = append(files, name); return nil })
	if err == nil || !strings.Contains(err.Error(), "fields a/b and a.b would have the same file a.b.mean.npy") {
		t.Errorf("%v after files %v", err, files)
	}
}
