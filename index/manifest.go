package index

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/zeebo/xxh3"
)

// ManifestName is the file that makes a folder a data set.
const ManifestName = "shardify.json"

// Names in Manifest.Format of the shards that this module reads.
const (
	FormatMmap     = "mmap"
	FormatWDS      = "wds"
	FormatMDS      = "mds"
	FormatMegatron = "megatron"
)

// Manifest is shardify.json: what readers know of a data set. docs/reference/format.md
// section 2 has the meaning of every key; the order of the fields is the order
// on disk.
type Manifest struct {
	Version int              `json:"shardify"`
	Format  string           `json:"format"`
	Samples int64            `json:"samples"` // sum over Shards
	Bytes   int64            `json:"bytes"`   // sum over Shards
	Keyed   bool             `json:"keyed,omitempty"`
	Schema  []shardify.Field `json:"schema"`
	// Members maps a field to what follows the key and a dot in the name of its
	// tar member; wds only.
	Members map[string]string `json:"members,omitempty"`
	Shards  []shardify.Shard  `json:"shards"`
	Files   []shardify.File   `json:"files"`
	Inputs  Inputs            `json:"inputs"`
	Recipe  map[string]string `json:"recipe"`
	// Operations are what was done to the samples, in order; Surveys what was found out
	// about them first.
	Operations []Operation `json:"operations,omitempty"`
	Surveys    []Survey    `json:"surveys,omitempty"`
	// Dropped samples are in no shard because an operation dropped them, Copied are further
	// copies. Counts is what else the operations did to values. With splits, only the root
	// manifest has these and Skipped.
	Dropped int64             `json:"dropped,omitempty"`
	Copied  int64             `json:"copied,omitempty"`
	Counts  []shardify.Count  `json:"counts,omitempty"`
	Skipped []Skip            `json:"skipped,omitempty"`
	LeftOut []format.Leftover `json:"left_out,omitempty"`
	// Coords are the coordinates of dimensions, by format.CoordOf or the name of the dimension.
	Coords map[string]format.Coord `json:"coords,omitempty"`
	// Documents are the samples that sequences were made of; 0: samples stayed samples.
	Documents int64 `json:"documents,omitempty"`
	// Static is the fields that are the same for all samples.
	Static *Static `json:"static,omitempty"`
	// Windows are views of the rows, by name.
	Windows map[string]View `json:"windows,omitempty"`
	// Splits are the subfolders of a split set; such a manifest has no Shards.
	Splits map[string]Split `json:"splits,omitempty"`
	// Parts says, for a set that was put together or extended, what made each stretch
	// of its shards; nil for a set of one conversion.
	Parts []Part `json:"parts,omitempty"`
	// Previous is the digest of the manifest that this one took the place of.
	Previous string `json:"previous,omitempty"`
	// Change is what was done to that one; nil for a set that was at most extended.
	Change *Change `json:"change,omitempty"`
	// Digest is 32 hexadecimal digits over the file; Encode fills it.
	Digest string `json:"xxh3"`
}

// Inputs says what a data set was made from.
type Inputs struct {
	Format string `json:"format"`
	Count  int64  `json:"count"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // of all names and sizes
	// Names are there only for MaxInputNames inputs or fewer.
	Names []string `json:"names,omitempty"`
}

// Part is a stretch of the shards of a data set that one conversion made.
type Part struct {
	Samples    int64             `json:"samples"`
	Shards     int64             `json:"shards"`
	Inputs     Inputs            `json:"inputs"`
	Recipe     map[string]string `json:"recipe"`
	Operations []Operation       `json:"operations,omitempty"`
	Surveys    []Survey          `json:"surveys,omitempty"`
	Dropped    int64             `json:"dropped,omitempty"`
	Copied     int64             `json:"copied,omitempty"`
	Counts     []shardify.Count  `json:"counts,omitempty"`
	Skipped    []Skip            `json:"skipped,omitempty"`
	LeftOut    []format.Leftover `json:"left_out,omitempty"`
	Documents  int64             `json:"documents,omitempty"`
	// Digest is that of the manifest with which the part was a set of its own.
	Digest string `json:"xxh3"`
}

// AsParts is the set's parts; a set of one conversion is one.
func (m *Manifest) AsParts() []Part {
	if len(m.Parts) > 0 {
		return m.Parts
	}
	shards := int64(len(m.Shards))
	for _, s := range m.Splits {
		shards += s.Shards
	}
	return []Part{{
		Samples: m.Samples, Shards: shards, Inputs: m.Inputs, Recipe: m.Recipe, Operations: m.Operations, Surveys: m.Surveys,
		Dropped: m.Dropped, Copied: m.Copied, Counts: m.Counts, Skipped: m.Skipped, LeftOut: m.LeftOut, Documents: m.Documents, Digest: m.Digest,
	}}
}

// MaxInputNames is the most inputs that a manifest names one by one.
const MaxInputNames = 1000

// Skip is input samples that were left out because they could not be read.
type Skip = format.Skip

// Operation is something that was done to all samples.
type Operation struct {
	Op   string `json:"op"`
	Text string `json:"text,omitempty"`
}

// Survey is something that was found out about the samples before they were converted.
type Survey struct {
	What   string `json:"what"`
	Result string `json:"result"`
}

// Split is a subfolder that is a data set of its own.
type Split struct {
	Samples int64  `json:"samples"`
	Shards  int64  `json:"shards"`
	Digest  string `json:"xxh3"` // that of the split's own manifest
}

// The digest is in the last line but one, so that it is found without parsing.
const (
	digestKey    = "\n  \"xxh3\": \""
	digestEnd    = "\"\n}\n"
	digestDigits = 32
)

// noDigest is in the place of the digest while that is computed.
var noDigest = strings.Repeat("0", digestDigits)

// Encode writes the canonical text: equal manifests give equal bytes. It sets
// version and Digest, and refuses what DecodeManifest would refuse.
func (m *Manifest) Encode() ([]byte, error) {
	var b bytes.Buffer
	err := m.EncodeTo(&b)
	return b.Bytes(), err
}

// EncodeTo is Encode for sets of very many shards, whose text is never in memory as a
// whole. It writes in small pieces.
func (m *Manifest) EncodeTo(w io.Writer) error {
	m.Version, m.Digest = version, noDigest
	c := *m // lists are [] in the text, never null
	c.Schema, c.Shards, c.Files = orEmpty(c.Schema), orEmpty(c.Shards), orEmpty(c.Files)
	if c.Recipe == nil {
		c.Recipe = map[string]string{}
	}
	if err := c.check(); err != nil {
		return err
	}
	c.Shards = []shardify.Shard{}
	text, err := marshal(&c, "  ")
	if err != nil {
		return shardify.Annotate(err, "write", ManifestName, "")
	}
	var h xxh3.Hasher
	out := io.MultiWriter(&h, w)
	// Text in JSON holds no line feeds, and nested lines are indented further.
	head, tail, _ := bytes.Cut(text, []byte(noShards))
	if _, err := out.Write(head); err != nil {
		return err
	}
	if err := encodeShards(out, m.Shards); err != nil {
		return err
	}
	end := len(tail) - len(digestEnd) - digestDigits
	if _, err := out.Write(tail[:end]); err != nil {
		return err
	}
	h.Write(tail[end:])
	m.Digest = digestText(h.Sum128())[len(DigestPrefix):]
	_, err = io.WriteString(w, m.Digest+digestEnd)
	return err
}

const noShards = "\n  \"shards\": []"

// encodeShards writes the list of shards as the text of the whole manifest has it.
func encodeShards(w io.Writer, shards []shardify.Shard) error {
	if len(shards) == 0 {
		_, err := io.WriteString(w, noShards)
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("    ", "  ")
	b.WriteString("\n  \"shards\": [\n")
	for i := range shards {
		b.WriteString("    ")
		if err := e.Encode(&shards[i]); err != nil {
			return shardify.Annotate(err, "write", ManifestName, "")
		}
		if i+1 < len(shards) {
			b.Truncate(b.Len() - 1)
			b.WriteString(",\n")
		}
		if b.Len() > 1<<16 || i+1 == len(shards) {
			if _, err := w.Write(b.Bytes()); err != nil {
				return err
			}
			b.Reset()
		}
	}
	_, err := io.WriteString(w, "  ]")
	return err
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// marshal is json.Marshal without the escapes for HTML, ending in a line feed
// when indented.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if indent == "" {
		b.Truncate(b.Len() - 1)
	}
	return b.Bytes(), nil
}

// DecodeManifest parses shardify.json and checks all that the text alone can show: version,
// digest, schema, sums, and names that stay inside the folder. An unknown key is not an
// error; another version is ErrUnsupported.
func DecodeManifest(b []byte) (*Manifest, error) {
	m, err := decodeManifest(b)
	if err != nil {
		return nil, shardify.Annotate(err, "read", ManifestName, "")
	}
	return m, nil
}

func decodeManifest(b []byte) (*Manifest, error) {
	var v struct {
		Version *int `json:"shardify"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, shardify.Corrupt(jsonOffset(err), "%v", err)
	}
	switch {
	case v.Version == nil:
		return nil, shardify.Corrupt(-1, "no key \"shardify\": not a manifest")
	case *v.Version != version:
		return nil, shardify.Unsupported("version %d of the layout; this program reads version %d", *v.Version, version)
	}
	if err := checkManifestDigest(b); err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, shardify.Corrupt(jsonOffset(err), "%v", err)
	}
	return &m, m.check()
}

// jsonOffset is the place of a JSON error, or -1.
func jsonOffset(err error) int64 {
	switch e := err.(type) {
	case *json.SyntaxError:
		return e.Offset
	case *json.UnmarshalTypeError:
		return e.Offset
	}
	return -1
}

func checkManifestDigest(b []byte) error {
	at := len(b) - len(digestEnd) - digestDigits
	if at < len(digestKey) || string(b[at-len(digestKey):at]) != digestKey || string(b[at+digestDigits:]) != digestEnd {
		return shardify.Corrupt(int64(len(b)), "does not end with its digest (key \"xxh3\")")
	}
	stored := string(b[at : at+digestDigits])
	var h xxh3.Hasher
	h.Write(b[:at])
	h.WriteString(noDigest)
	h.Write(b[at+digestDigits:])
	if got := digestText(h.Sum128())[len(DigestPrefix):]; got != stored {
		return shardify.Corrupt(int64(at), "xxh3 of the text is %s, stored %s", got, stored)
	}
	return nil
}
