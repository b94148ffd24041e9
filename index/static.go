package index

import (
	"bytes"
	"encoding/json"

	"github.com/shardify/shardify"
)

// StaticName is the file of the fields that are the same for all samples.
const StaticName = "static.safetensors"

// InputsName is the list of inputs that the field origin counts: a line of JSON for each,
// {"file": "..."}, with the object that was read in it if there is a choice.
const InputsName = "inputs.jsonl"

// Static is the fields that are the same for all samples: an mmap shard of one sample beside the
// manifest, which is also one of its files.
type Static struct {
	Schema []shardify.Field `json:"schema"`
	Shard  shardify.Shard   `json:"shard"`
}

// Layout is how the file holds the fields.
func (s *Static) Layout() (*Layout, error) { return NewLayout(s.Schema, false) }

// check refuses what no set has.
func (s *Static) check(files []shardify.File) error {
	if err := shardify.ValidateSchema(s.Schema); err != nil {
		return shardify.Corrupt(-1, "static: %v", err)
	}
	for i := range s.Schema {
		if f := &s.Schema[i]; f.Nullable || f.Ragged {
			return shardify.Corrupt(-1, "static field %s: want no missing values, and no shape of its own", f.Name)
		}
	}
	if s.Shard.Name != StaticName || s.Shard.Samples != 1 || s.Shard.Bytes < 0 || len(s.Shard.Files) > 0 {
		return shardify.Corrupt(-1, "static: %q of %d samples: want %s of one", s.Shard.Name, s.Shard.Samples, StaticName)
	}
	for i := range files {
		if files[i].Name == StaticName && files[i].Bytes == s.Shard.Bytes {
			return nil
		}
	}
	return shardify.Corrupt(-1, "static: %s is not among the files, or has another size", StaticName)
}

// StaticFile is the record of the file of static fields; nil without.
func (m *Manifest) StaticFile() *shardify.File {
	for i := range m.Files {
		if m.Static != nil && m.Files[i].Name == StaticName {
			return &m.Files[i]
		}
	}
	return nil
}

// Holds checks the bytes of a file against its record.
func Holds(f *shardify.File, b []byte) error {
	if n := int64(len(b)); n != f.Bytes {
		return shardify.Corrupt(-1, "bytes: the record says %d, the file has %d", f.Bytes, n)
	}
	if d := DigestOf(b); d != f.Digest {
		return shardify.Corrupt(-1, "digest: the record says %s, the file has %s", f.Digest, d)
	}
	return nil
}

// JoinedStatic is what sets that become one have in common of static fields.
type JoinedStatic struct {
	first *Manifest // of those that have any
	lost  bool
	any   bool
}

// Add takes a further set. Other fields or values are an error.
func (j *JoinedStatic) Add(m *Manifest) error {
	a := m.StaticFile()
	if a == nil {
		j.lost = j.lost || j.first != nil
		j.any = true
		return nil
	}
	if j.first == nil {
		j.first, j.lost = m, j.any
		return nil
	}
	if x, y := staticText(m.Static.Schema), staticText(j.first.Static.Schema); !bytes.Equal(x, y) {
		return shardify.Mismatch("static fields differ: %s here, %s there", x, y)
	}
	if b := j.first.StaticFile(); a.Digest != b.Digest {
		return shardify.Mismatch("the static fields have other values: %s has the digest %s here, %s there", StaticName, a.Digest, b.Digest)
	}
	return nil
}

func staticText(schema []shardify.Field) []byte {
	b, err := json.Marshal(schema)
	if err != nil {
		panic("index: fields to JSON: " + err.Error())
	}
	return b
}

// Of is the manifest whose static fields all sets have; nil if not all have any. lost names what
// only some of them have.
func (j *JoinedStatic) Of() (of *Manifest, lost []string) {
	if j.first == nil {
		return nil, nil
	}
	if !j.lost {
		return j.first, nil
	}
	for i := range j.first.Static.Schema {
		lost = append(lost, j.first.Static.Schema[i].Name)
	}
	return nil, lost
}
