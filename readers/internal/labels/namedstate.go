package labels

import (
	"encoding/binary"
	"encoding/json"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// namedState is what a plan keeps of a Named, as JSON before the state of the files:
//
//	u8      namedMark, which begins no other state
//	uvarint n, n bytes of JSON
//	        the state of the files
type namedState struct {
	Prefixes []string          `json:"prefixes,omitempty"` // of keys, by root
	By       Stem              `json:"stem,omitempty"`
	Second   bool              `json:"second,omitempty"` // see Paths
	Keyed    bool              `json:"keyed,omitempty"`
	Classes  []string          `json:"classes,omitempty"`
	Left     []format.Leftover `json:"left,omitempty"`
}

const namedMark = 0xff

// State puts what the names are before the state of the files.
func (n *Named) State(files []byte) ([]byte, error) {
	if n == nil {
		return files, nil
	}
	text, err := json.Marshal(namedState{n.paths.Prefixes(), n.paths.By, n.paths.Second, n.keyed, n.classes, n.left})
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint([]byte{namedMark}, uint64(len(text)))
	return append(append(b, text...), files...), nil
}

// ReadNamed is the inverse of State, for the same table.
func ReadNamed(b []byte, t *format.Table) (n *Named, files []byte, err error) {
	if len(b) == 0 || b[0] != namedMark {
		return nil, b, nil
	}
	bad := shardify.Corrupt(-1, "the names of samples in the plan")
	size, w := binary.Uvarint(b[1:])
	if w <= 0 || size > uint64(len(b)-1-w) {
		return nil, nil, bad
	}
	text, files := b[1+w:1+w+int(size)], b[1+w+int(size):]
	var s namedState
	if json.Unmarshal(text, &s) != nil || len(s.Prefixes) != len(t.Roots) || len(s.Classes) > maxClasses {
		return nil, nil, bad
	}
	n = &Named{paths: NewPaths(t, s.By), keyed: s.Keyed, classes: s.Classes, left: s.Left}
	n.paths.SetPrefixes(s.Prefixes)
	n.paths.Second = s.Second
	n.describe()
	return n, files, nil
}
