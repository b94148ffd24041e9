package sampleaxis

import "testing"

func TestSplitNamesAreFoundInPaths(t *testing.T) {
	for p, want := range map[string]string{
		"/train/x": "train /x", "/x_train": "train /x", "/train_set_x": "train /x", "/Xtrain": "train /X", "/y_val": "val /y", "/validation/images": "val /images",
		"/a/b-test/c": "test /a/b/c", "/train": "train /data", "/trainLabels": "train /Labels", "/test_labels": "test /labels", "/images_test_raw": "test /images_raw",
		"/latest": " ", "/constrain": " ", "/trainer/x": " ", "/contest_x": " ", "/x": " ", "/tracks/valid": "val /tracks",
	} {
		split, rest := SplitOf(p)
		if got := split + " " + rest; got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}
