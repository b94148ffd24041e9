package storage

import (
	"path"
	"path/filepath"
	"strings"
)

// Names of inputs and data sets are paths of this machine or addresses, SCHEME://PLACE.
// The functions below are those of path/filepath for both.

// Scheme is the scheme of an address, in small letters; "" for a path.
func Scheme(name string) string {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok || scheme == "" {
		return ""
	}
	for _, c := range []byte(scheme) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '-' {
			return ""
		}
	}
	return strings.ToLower(scheme)
}

// address cuts an address behind its scheme.
func address(name string) (scheme, place string, ok bool) {
	s := Scheme(name)
	if s == "" {
		return "", "", false
	}
	n := len(s) + len("://")
	return name[:n], name[n:], true
}

// PathAt is where the path begins in a name: behind the server of an address, whose port has a
// colon, too.
func PathAt(name string) int {
	scheme, place, ok := address(name)
	if !ok {
		return 0
	}
	if i := strings.IndexByte(place, '/'); i >= 0 {
		return len(scheme) + i
	}
	return len(name)
}

// Clean is the shortest name of the same file.
func Clean(name string) string {
	scheme, place, ok := address(name)
	switch {
	case !ok:
		return filepath.Clean(name)
	case strings.HasPrefix(place, "/"):
		return scheme + path.Clean(place)
	}
	return scheme + path.Clean("/" + place)[1:]
}

// Join is a file by its slash path below a folder.
func Join(folder, name string) string {
	if Scheme(folder) == "" {
		return filepath.Join(folder, filepath.FromSlash(name))
	}
	if !strings.HasSuffix(folder, "/") {
		folder += "/"
	}
	return Clean(folder + name)
}

// Dir is the folder of a file.
func Dir(name string) string {
	scheme, place, ok := address(Clean(name))
	if !ok {
		return filepath.Dir(name)
	}
	if i := strings.LastIndexByte(place, '/'); i > 0 {
		return scheme + place[:i]
	} else if i == 0 {
		return scheme + "/"
	}
	return scheme
}

// Abs is a name that does not depend on the current folder.
func Abs(name string) (string, error) {
	if Scheme(name) != "" {
		return Clean(name), nil
	}
	return filepath.Abs(name)
}
