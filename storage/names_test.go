package storage

import (
	"strings"
	"testing"
)

func TestNamesAreThoseOfPathsAndAddresses(t *testing.T) {
	for _, c := range []struct{ name, scheme, clean, dir, join string }{
		{"a/./b", "", "a/b", "a", "a/b/x/y"},
		{"a:b//c", "", "a:b/c", "a:b", "a:b/c/x/y"},
		{"://a", "", ":/a", ":", ":/a/x/y"},
		{"/a b://c", "", "/a b:/c", "/a b:", "/a b:/c/x/y"},
		{"mem://", "mem", "mem://", "mem://", "mem://x/y"},
		{"mem://a", "mem", "mem://a", "mem://", "mem://a/x/y"},
		{"mem://a/../b//c/", "mem", "mem://b/c", "mem://b", "mem://b/c/x/y"},
		{"mem://../../a", "mem", "mem://a", "mem://", "mem://a/x/y"},
		{"S3://Bucket/Key", "s3", "S3://Bucket/Key", "S3://Bucket", "S3://Bucket/Key/x/y"},
		{"file:///a/b", "file", "file:///a/b", "file:///a", "file:///a/b/x/y"},
		{"file:///a", "file", "file:///a", "file:///", "file:///a/x/y"},
	} {
		if got := Scheme(c.name); got != c.scheme {
			t.Errorf("scheme of %s: %q", c.name, got)
		}
		if at, _, ok := strings.Cut(c.name, "Bucket"); ok && PathAt(c.name) != len(at)+len("Bucket") || c.scheme == "" && PathAt(c.name) != 0 {
			t.Errorf("the path of %s begins at %d", c.name, PathAt(c.name))
		}
		if got := Clean(c.name); got != c.clean {
			t.Errorf("%s is %s, want %s", c.name, got, c.clean)
		}
		if got := Dir(c.name); got != c.dir {
			t.Errorf("%s is in %s, want %s", c.name, got, c.dir)
		}
		if got := Join(c.name, "x/./y"); got != c.join {
			t.Errorf("%s and x/y are %s, want %s", c.name, got, c.join)
		}
	}
}
