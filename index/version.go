package index

import (
	"fmt"
	"regexp"
	"sync"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// KeptDir has the manifests that were replaced, below the folder of a set.
const KeptDir = storage.Private + "/manifests"

// Change is what made a version of a set of the one before.
type Change struct {
	Version int64  `json:"version"` // its number; the first one is 1
	Op      string `json:"op"`
	// Samples is how many more there are; below 0 if some were removed.
	Samples int64 `json:"samples"`
	// Note is what the user says of it.
	Note string `json:"note,omitempty"`
}

// MaxNote is the most bytes of a Note.
const MaxNote = 1 << 12

var changeOp = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z-]{0,31}$`) })

// VersionNumber counts the versions of a set from 1.
func (m *Manifest) VersionNumber() int64 {
	if m.Change != nil {
		return m.Change.Version
	}
	return int64(len(m.AsParts()))
}

// KeptName is where the manifest of a version is kept that is not the present one: that of the set,
// or of one of its splits. It is below the folder of the set.
func KeptName(version int64, split string) string {
	if split != "" {
		split = "-" + split
	}
	return fmt.Sprintf("%s/%06d%s.json", KeptDir, version, split)
}

// PendingName is where the manifest of a split of a version is found, by its digest, from before that of the set names it
// on: in an object store another writer may put a manifest of its own in the folder of the split.
func PendingName(digest string) string {
	return KeptDir + "/split-" + digest + ".json"
}

// Changed reports whether a set has had several versions. Its plan describes only the first one, and must not be
// taken for that of the set.
func Changed(s storage.Store) (bool, error) {
	for _, err := range storage.Names(s, KeptDir) {
		return err == nil, err
	}
	return false, nil
}

func (m *Manifest) checkChange() error {
	c := m.Change
	if c == nil {
		return nil
	}
	if c.Version < 2 || !changeOp().MatchString(c.Op) || m.Previous == "" || len(c.Note) > MaxNote || !utf8.ValidString(c.Note) {
		return shardify.Corrupt(-1, "change %q to version %d, after manifest %q", c.Op, c.Version, m.Previous)
	}
	return nil
}
