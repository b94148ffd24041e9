package endtoend

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoPersonLeavesADICOMFile: no byte that a conversion writes or prints names the person of the input; a copy of
// whole files does, so that the search finds what is there.
func TestNoPersonLeavesADICOMFile(t *testing.T) {
	names := []string{"Synthetic", "ID-0000", "19000101"}
	input := t.TempDir()
	b, err := os.ReadFile("../../readers/dicom/testdata/with_patient_tags.dcm")
	if err == nil {
		err = os.WriteFile(filepath.Join(input, "a.dcm"), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	found := func(args ...string) bool {
		dir := filepath.Join(t.TempDir(), "out")
		all := run(t, append([]string{"shardify", "convert", input, "-o", dir}, args...)...)
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := os.ReadFile(p)
			all += string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if strings.Contains(all, n) {
				return true
			}
		}
		return false
	}
	for _, format := range []string{"mmap", "wds", "mds", "tfrecord", "parquet"} {
		if found("--format", format) {
			t.Errorf("%s: the person is in the set", format)
		}
	}
	if !found("--from", "files") || !found("--columns", "image,PatientID") {
		t.Error("the search does not find a person who is there")
	}
}
