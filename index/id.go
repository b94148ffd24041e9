package index

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
)

// IDPrefix comes before the 32 hexadecimal digits of an id.
const IDPrefix = "id1:"

// idHead is what the text under the digest begins with. It fills 256 bytes.
var idHead = "shardify id 1" + strings.Repeat(" ", 242) + "\n"

// origins are the keys of a manifest that say how a set came to be, or name files that follow from
// its shards. All other keys count in the id, also those of later versions.
var origins = map[string]bool{
	"files": true, "inputs": true, "recipe": true, "operations": true, "surveys": true, "dropped": true, "copied": true, "counts": true, "skipped": true,
	"left_out": true, "documents": true, "parts": true, "previous": true, "change": true, "splits": true, "xxh3": true,
}

// keyName is what a key of a manifest looks like.
var keyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9_]+$`) })

// ID is the id of a set by the text of its manifest, which DecodeManifest has accepted: the digest of
// all that readers of samples use, and of nothing that says where the samples came from. splits has
// the ids of the splits, if the set has any; docs/reference/format.md section 2.5 has the bytes.
func ID(text []byte, splits map[string]string) (string, error) {
	var h Digest
	_, _ = h.Write([]byte(idHead))
	d := json.NewDecoder(bytes.NewReader(text))
	bad := func(err error) (string, error) {
		return "", shardify.Annotate(shardify.Corrupt(d.InputOffset(), "%v", err), "read", ManifestName, "")
	}
	if _, err := d.Token(); err != nil {
		return bad(err)
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return bad(err)
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return bad(err)
		}
		if seen[name] {
			return "", shardify.Annotate(shardify.Corrupt(d.InputOffset(), "key %q is there twice", name), "read", ManifestName, "")
		}
		if seen[name] = true; origins[name] {
			continue
		}
		if !keyName().MatchString(name) {
			return "", shardify.Annotate(shardify.Unsupported("key %q in a set with an id: want lower-case letters, digits and _", name), "read", ManifestName, "")
		}
		for _, b := range [][]byte{[]byte(name + ":"), value, {'\n'}} {
			_, _ = h.Write(b)
		}
	}
	if _, err := d.Token(); err != nil {
		return bad(err)
	}
	for _, name := range slices.Sorted(maps.Keys(splits)) {
		_, _ = h.Write([]byte(name + " " + splits[name] + "\n"))
	}
	return IDPrefix + h.String()[len(DigestPrefix):], nil
}

// ValidID reports whether s has the form of an id.
func ValidID(s string) bool {
	hex, ok := strings.CutPrefix(s, IDPrefix)
	return ok && len(hex) == digestDigits && isHex(hex)
}
