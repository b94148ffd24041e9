package tar

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Why a member belongs to no sample.
const (
	leftFolder   = "folders"
	leftHidden   = "hidden files"
	leftReserved = "names that loaders keep for themselves (__x__)"
	leftNoExt    = "names without an extension"
)

// types names what is not a regular file.
var types = map[byte]string{'1': "a hard link", '2': "a symbolic link", '3': "a device", '4': "a device", '6': "a pipe"}

// SplitMember is the sample that a member of a tar from any tool belongs to, and its extension, in lower case
// and as the name of a field, or why it belongs to none. Links and devices are refused.
func SplitMember(m *ForeignMember) (key []byte, ext, why string, err error) {
	switch m.Type {
	case '0':
	case '5':
		return nil, "", leftFolder, nil
	case '1', '2':
		return nil, "", "", shardify.Unsupported("%s to %.200q: pack it again with the files themselves (tar --dereference --hard-dereference)", types[m.Type], m.Link)
	default:
		what, ok := types[m.Type]
		if !ok {
			what = fmt.Sprintf("a member of type %q", m.Type)
		}
		return nil, "", "", shardify.Unsupported("%s, which is not a regular file", what)
	}
	name := m.Name
	for bytes.HasPrefix(name, []byte("./")) {
		name = name[2:]
	}
	if len(name) == 0 {
		return nil, "", leftNoExt, nil
	}
	if name[0] == '/' || bytes.Contains(name, []byte("..")) && slices.ContainsFunc(bytes.Split(name, []byte("/")), func(p []byte) bool { return string(p) == ".." }) {
		return nil, "", "", shardify.Unsupported("a name that leads out of the folder")
	}
	if !utf8.Valid(name) {
		return nil, "", "", shardify.Mismatch("a name that is not UTF-8")
	}
	base := name[bytes.LastIndexByte(name, '/')+1:]
	top, _, _ := bytes.Cut(name, []byte("/"))
	switch {
	case len(base) == 0 || base[0] == '.' || string(base) == "Thumbs.db" || string(base) == "desktop.ini":
		return nil, "", leftHidden, nil
	case len(top) >= 4 && bytes.HasPrefix(top, []byte("__")) && bytes.HasSuffix(top, []byte("__")):
		return nil, "", leftReserved, nil
	}
	key, field, ok := SplitKey(name)
	if !ok || len(field) == 0 {
		return nil, "", leftNoExt, nil
	}
	ext = format.PlainName(string(bytes.ToLower(field)))
	return key, ext, "", shardify.ValidName(ext)
}
