package tar

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/npy"
)

// MemberKind is what a tar member holds.
type MemberKind uint8

// The kinds of members.
const (
	MemberNPY   MemberKind = iota // an array, NPY 1.0
	MemberClass                   // an integer in decimal ASCII
	MemberBytes                   // opaque bytes
	MemberImage                   // opaque bytes, each sample with its own extension
	MemberTexts                   // a list of texts as JSON
)

// Member says how a tar stores a field.
type Member struct {
	Field int // in the schema
	Kind  MemberKind
	// Name is what follows the key and a dot, as in the manifest: "x.npy", "cls",
	// "jpg"; for MemberImage it ends in "*", which stands for one of Exts.
	Name string
	Exts []string // by the code that the companion ExtSuffix holds
	// Shape and Ext are the fields with the companions ShapeSuffix and ExtSuffix,
	// or -1.
	Shape, Ext int
}

// NameOf is the member's name with the extension of this code; without
// extensions code is ignored.
func (m *Member) NameOf(code int) string {
	if m.Kind != MemberImage {
		return m.Name
	}
	return strings.TrimSuffix(m.Name, "*") + m.Exts[code]
}

// Names are all names that the member may have.
func (m *Member) Names() []string {
	if m.Kind != MemberImage {
		return []string{m.Name}
	}
	names := make([]string, len(m.Exts))
	for i := range names {
		names[i] = m.NameOf(i)
	}
	return names
}

// Members maps a schema to tar members: one for each field but companions, in
// the order of the schema. It refuses, with what would help, what a wds shard
// cannot carry.
func Members(schema []shardify.Field) ([]Member, error) {
	return membersNamed(schema, func(f *shardify.Field) (string, bool) { return memberName(f), true })
}

// MembersOf is Members with the names that a manifest gives.
func MembersOf(schema []shardify.Field, names map[string]string) ([]Member, error) {
	members, err := membersNamed(schema, func(f *shardify.Field) (string, bool) {
		n, ok := names[f.Name]
		return n, ok
	})
	if err == nil && len(members) != len(names) {
		return nil, shardify.Corrupt(-1, "%d members for %d fields", len(names), len(members))
	}
	return members, err
}

// MemberNames is the manifest's object: field -> member name.
func MemberNames(schema []shardify.Field) (map[string]string, error) {
	members, err := Members(schema)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(members))
	for i := range members {
		names[schema[members[i].Field].Name] = members[i].Name
	}
	return names, nil
}

func membersNamed(schema []shardify.Field, name func(*shardify.Field) (string, bool)) ([]Member, error) {
	if err := shardify.ValidateSchema(schema); err != nil {
		return nil, err
	}
	var members []Member
	owner := map[string]string{} // of member names
	for i := range schema {
		if shardify.Companion(schema, i) {
			continue
		}
		f := &schema[i]
		m, err := newMember(schema, i)
		if err != nil {
			return nil, withField(err, f.Name)
		}
		var ok bool
		if m.Name, ok = name(f); !ok {
			return nil, withField(shardify.Corrupt(-1, "no member name"), f.Name)
		}
		if err := claimNames(owner, &m, f.Name); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	if len(members) == 0 {
		return nil, shardify.Mismatch("no field but companions")
	}
	return members, nil
}

// claimNames refuses member names that are bad or that another field has.
func claimNames(owner map[string]string, m *Member, field string) error {
	if (m.Kind == MemberImage) != strings.HasSuffix(m.Name, "*") {
		return withField(shardify.Mismatch("member name %q: only an image's ends in *", m.Name), field)
	}
	for _, name := range m.Names() {
		if err := checkMemberName(name); err != nil {
			return withField(err, field)
		}
		if other, ok := owner[name]; ok && other == field {
			return withField(shardify.Mismatch("extension %s is listed twice", name), field)
		} else if ok {
			return shardify.Mismatch("fields %s and %s would both be the tar member %q: rename one, or use --format mmap", other, field, name)
		}
		owner[name] = field
	}
	return nil
}

// newMember is the member of a field, without its name.
func newMember(schema []shardify.Field, i int) (Member, error) {
	f := &schema[i]
	m := Member{Field: i, Shape: -1, Ext: -1}
	switch {
	case f.Media == "image":
		m.Kind, m.Ext = MemberImage, shardify.FieldIndex(schema, f.Name+shardify.ExtSuffix)
		if m.Ext < 0 || !shardify.Companion(schema, m.Ext) || len(schema[m.Ext].Shape) > 0 {
			return m, shardify.Mismatch("image without a field %s of u8 that says which extension each has", f.Name+shardify.ExtSuffix)
		}
		if m.Exts = schema[m.Ext].Labels(); len(m.Exts) == 0 || len(m.Exts) > 256 {
			return m, shardify.Mismatch("field %s lists %d extensions, want 1 to 256", schema[m.Ext].Name, len(m.Exts))
		}
		if f.Levels != 1 {
			return m, noPlace("lists of images")
		}
	case f.Media == "txt" && f.Levels == 2:
		m.Kind = MemberTexts
	case f.Media != "":
		m.Kind = MemberBytes
		if f.Levels != 1 {
			return m, noPlace("lists of opaque members")
		}
	case f.Levels == 2:
		return m, noPlace("lists of lists of numbers")
	case f.Nullable:
		return m, noPlace("missing numbers")
	case f.Name == "cls" && f.DType.IsInt() && f.Levels == 0 && len(f.Shape) == 0:
		m.Kind = MemberClass
	default:
		return arrayMember(schema, m)
	}
	return m, nil
}

func noPlace(what string) error {
	return shardify.Mismatch("a wds shard has no place for %s: use --format mmap", what)
}

func arrayMember(schema []shardify.Field, m Member) (Member, error) {
	f := &schema[m.Field]
	rank := len(f.Shape) + f.Levels
	if f.Ragged {
		m.Shape = shardify.FieldIndex(schema, f.Name+shardify.ShapeSuffix)
		rank = len(f.Shape) + schema[m.Shape].Shape[0]
	}
	switch {
	case f.DType == shardify.BF16:
		return m, shardify.Mismatch("NumPy files know no bf16: cast to f32 or f16, or use --format mmap")
	case rank > npy.MaxRank:
		return m, shardify.Mismatch("an array of %d dimensions; NumPy opens at most %d", rank, npy.MaxRank)
	}
	return m, nil
}

func withField(err error, field string) error {
	e, ok := err.(*shardify.Error)
	if !ok || e.Field != "" {
		return err
	}
	c := *e
	c.Field = field
	return &c
}

// SortMembers sorts members as samples have them, for images with the given codes (by
// member).
func SortMembers(members []Member, codes []int) []int {
	order := make([]int, len(members))
	names := make([]string, len(members))
	for i := range members {
		order[i], names[i] = i, members[i].NameOf(codes[i])
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	return order
}
