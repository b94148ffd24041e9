package remote

import "testing"

func TestAddressesAreShownWithoutLogin(t *testing.T) {
	for name, want := range map[string]string{
		"x.npz":                    "x.npz",
		"s3://bucket/a@b:c":        "s3://bucket/a@b:c",
		"s3://ID:se/cret@bucket/x": "s3://...",
		"http://me:x@h:80/a":       "http://h:80/a",
		"http://h:80/a":            "http://h:80/a",
		"http://h":                 "http://h",
		"http://[::1]:80/a":        "http://[::1]:80/a",
		"http://[fe80::a]/a":       "http://[fe80::a]/a",
		"roots://me@h//a":          "roots://h//a",
		"http:///a":                "http:///a",
	} {
		if s := WithoutLogin(name); s != want {
			t.Errorf("%s: %s, want %s", name, s, want)
		}
	}
}
