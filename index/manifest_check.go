package index

import (
	"errors"
	"math"
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// formatName is what any format's name looks like. Which formats there are is for the
// tables of readers and writers to say.
var formatName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`) })

// check holds for every manifest that is written or read.
func (m *Manifest) check() error {
	if !formatName().MatchString(m.Format) && (m.Format != "" || len(m.Splits) == 0) {
		return shardify.Unsupported("format %q", m.Format)
	}
	if len(m.Schema) > 0 || len(m.Splits) == 0 {
		if err := shardify.ValidateSchema(m.Schema); err != nil {
			return err
		}
	}
	for f, name := range m.Members {
		if shardify.FieldIndex(m.Schema, f) < 0 {
			return shardify.Corrupt(-1, "members name field %q, which the schema lacks", f)
		}
		if name == "" || strings.ContainsAny(name, "/\\\x00") {
			return shardify.Corrupt(-1, "member name %q of field %s", name, f)
		}
	}
	if err := m.checkFiles(); err != nil {
		return err
	}
	for _, s := range m.Skipped {
		if s.Lo < 0 || s.Hi < s.Lo {
			return shardify.Corrupt(-1, "skipped samples [%d, %d) of %q", s.Lo, s.Hi, s.Input)
		}
	}
	if i := &m.Inputs; i.Count < 0 || i.Bytes < 0 || len(i.Names) > 0 && int64(len(i.Names)) != i.Count {
		return shardify.Corrupt(-1, "%d inputs of %d bytes with %d names", i.Count, i.Bytes, len(i.Names))
	}
	if err := m.checkParts(); err != nil {
		return err
	}
	if m.Static != nil {
		if err := m.Static.check(m.Files); err != nil {
			return err
		}
	}
	if err := m.checkWindows(); err != nil {
		return err
	}
	if err := m.checkCoords(); err != nil {
		return err
	}
	return m.checkSums()
}

// checkParts: together they are the set.
func (m *Manifest) checkParts() error {
	if m.Previous != "" && (len(m.Previous) != digestDigits || !isHex(m.Previous)) {
		return shardify.Corrupt(-1, "previous manifest %q", m.Previous)
	}
	if err := m.checkChange(); err != nil || len(m.Parts) == 0 {
		return err
	}
	want := int64(len(m.Shards))
	for _, s := range m.Splits {
		want += min(max(s.Shards, 0), math.MaxInt32)
	}
	samples, shards := m.Samples, want
	for _, p := range m.Parts {
		if p.Samples < 0 || p.Shards < 0 || p.Samples > samples || p.Shards > shards || len(p.Digest) != digestDigits || !isHex(p.Digest) {
			return shardify.Corrupt(-1, "part of %d samples in %d shards, xxh3 %q, of %d and %d left", p.Samples, p.Shards, p.Digest, samples, shards)
		}
		samples, shards = samples-p.Samples, shards-p.Shards
	}
	if samples != 0 || shards != 0 {
		return shardify.Corrupt(-1, "parts lack %d samples and %d shards of the set", samples, shards)
	}
	return nil
}

// checkFiles: every published name once, inside the folder, with sizes and
// digests that can be.
func (m *Manifest) checkFiles() error {
	seen := make(map[string]bool, len(m.Shards)+len(m.Files))
	for i := range m.Shards {
		s := &m.Shards[i]
		if s.Samples < 0 {
			return shardify.Corrupt(-1, "shard %q has %d samples", s.Name, s.Samples)
		}
		if err := checkFile(seen, s.Name, s.Bytes, s.Digest); err != nil {
			return err
		}
		for _, f := range s.Files {
			if err := checkFile(seen, f.Name, f.Bytes, f.Digest); err != nil {
				return err
			}
		}
	}
	for _, f := range m.Files {
		if err := checkFile(seen, f.Name, f.Bytes, f.Digest); err != nil {
			return err
		}
	}
	return nil
}

func checkFile(seen map[string]bool, name string, size int64, digest string) error {
	if err := SafeName(name); err != nil {
		return err
	}
	switch {
	case name == ManifestName:
		return shardify.Corrupt(-1, "the manifest lists itself")
	case seen[name]:
		return shardify.Corrupt(-1, "two files named %q", name)
	case size < 0:
		return shardify.Corrupt(-1, "file %q has %d bytes", name, size)
	case !ValidDigest(digest):
		return shardify.Corrupt(-1, "file %q: digest %q: want xxh3: or xxh3p: and 32 digits", name, digest)
	}
	seen[name] = true
	return nil
}

// SafeName checks the name of a published file: a clean slash path of UTF-8 that
// stays below the data set's folder on every system.
func SafeName(name string) error {
	bad := name == "" || name == "." || name == ".." || path.Clean(name) != name ||
		strings.HasPrefix(name, "/") || strings.HasPrefix(name, "../") ||
		strings.ContainsAny(name, "\\:") || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f })
	if bad {
		return shardify.Corrupt(-1, "file name %q is not a clean path inside the folder", name)
	}
	return nil
}

var errSum = errors.New("sum exceeds 63 bits")

func (m *Manifest) checkSums() error {
	var samples, size int64
	var err error
	add := func(to *int64, n int64) {
		if n > math.MaxInt64-*to {
			err = errSum
			return
		}
		*to += n
	}
	for i := range m.Shards {
		add(&samples, m.Shards[i].Samples)
		add(&size, m.Shards[i].Bytes)
	}
	for name, s := range m.Splits {
		if e := SafeName(name); e != nil || strings.Contains(name, "/") {
			return shardify.Corrupt(-1, "split named %q", name)
		}
		if s.Samples < 0 || s.Shards < 0 || len(s.Digest) != digestDigits || !isHex(s.Digest) {
			return shardify.Corrupt(-1, "split %s: %d samples in %d shards, xxh3 %q", name, s.Samples, s.Shards, s.Digest)
		}
		add(&samples, s.Samples)
	}
	switch {
	case err != nil:
		return shardify.Corrupt(-1, "samples or bytes: %v", err)
	case len(m.Splits) > 0 && len(m.Shards) > 0:
		return shardify.Corrupt(-1, "both splits and shards")
	case samples != m.Samples:
		return shardify.Corrupt(-1, "samples: %d, but the list adds up to %d", m.Samples, samples)
	case len(m.Splits) == 0 && size != m.Bytes, m.Bytes < 0:
		return shardify.Corrupt(-1, "bytes: %d, but the shards add up to %d", m.Bytes, size)
	}
	return nil
}
