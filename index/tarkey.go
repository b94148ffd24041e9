package index

import "bytes"

// SplitKey splits a member's name into the key of its sample and its field, as
// webdataset, Energon and Hugging Face datasets do, by the expression
//
//	^((?:.*/|)[^.]+)[.]([^/]*)$
//
// so at the first dot behind the last slash. A base name that begins with a dot
// makes that expression back up over the slash: the key then ends in a slash and
// stands for a sample that nobody meant (see Phantom). ok is false for names
// that those loaders skip.
func SplitKey(name []byte) (key, field []byte, ok bool) {
	base := bytes.LastIndexByte(name, '/') + 1
	dot := bytes.IndexByte(name[base:], '.')
	if dot < 0 {
		return nil, nil, false
	}
	if dot += base; dot == base {
		if base == 0 {
			return nil, nil, false
		}
		// The part before the slash takes the place of the base name: it may not
		// hold a dot, and may be empty only at the slash itself.
		folder := bytes.LastIndexByte(name[:base-1], '/') + 1
		if bytes.IndexByte(name[folder:base-1], '.') >= 0 {
			return nil, nil, false
		}
	}
	return name[:dot:dot], name[dot+1:], true
}
