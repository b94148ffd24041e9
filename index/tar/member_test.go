package tar

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func scalar(name string, d shardify.DType) shardify.Field {
	return shardify.Field{Name: name, DType: d}
}

func opaque(name, media string) shardify.Field {
	return shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: media}
}

func exts(name, labels string) shardify.Field {
	return shardify.Field{Name: name + shardify.ExtSuffix, DType: shardify.U8, Attrs: map[string]string{"labels": labels}}
}

// TestMemberNames: one row per rule of docs/reference/format.md section 4.
func TestMemberNames(t *testing.T) {
	shape := shardify.Field{Name: "v.shape", DType: shardify.I64, Shape: []int{3}}
	for _, c := range []struct {
		field shardify.Field
		name  string
		kind  MemberKind
		more  []shardify.Field
	}{
		{scalar("x", shardify.F32), "x.npy", MemberNPY, nil},
		{scalar("Jet_pt", shardify.F32), "jet_pt.npy", MemberNPY, nil},
		{scalar("Particle.PT", shardify.F32), "particle.pt.npy", MemberNPY, nil},
		{scalar("a b/c", shardify.F32), "a_b_c.npy", MemberNPY, nil},
		{scalar("µµ", shardify.F32), "f__.npy", MemberNPY, nil},
		{scalar("a..b.", shardify.F32), "a._.b._.npy", MemberNPY, nil},
		{scalar("cls", shardify.I64), "cls", MemberClass, nil},
		{scalar("cls", shardify.U8), "cls", MemberClass, nil},
		{scalar("cls", shardify.F32), "cls.npy", MemberNPY, nil},
		{scalar("CLS", shardify.I64), "cls.npy", MemberNPY, nil},
		{shardify.Field{Name: "cls", DType: shardify.I64, Shape: []int{2}}, "cls.npy", MemberNPY, nil},
		{opaque("jpg", "jpg"), "jpg", MemberBytes, nil},
		{opaque("caption", "txt"), "caption.txt", MemberBytes, nil},
		{opaque("seg.png", "png"), "seg.png", MemberBytes, nil},
		{opaque("xpng", "png"), "xpng.png", MemberBytes, nil},
		{opaque("h5", "h5"), "h5.bin", MemberBytes, nil},
		{opaque("sky", "fits"), "sky.fits.bin", MemberBytes, nil},
		{opaque("blob", "bin"), "blob.bin", MemberBytes, nil},
		{opaque("image", "image"), "*", MemberImage, []shardify.Field{exts("image", "jpg\npng")}},
		{opaque("left", "image"), "left.*", MemberImage, []shardify.Field{exts("left", "jpg")}},
		{shardify.Field{Name: "words", DType: shardify.U8, Levels: 2, Media: "txt"}, "words.json", MemberTexts, nil},
		{shardify.Field{Name: "v", DType: shardify.U8, Levels: 1, Ragged: true}, "v.npy", MemberNPY, []shardify.Field{shape}},
		{shardify.Field{Name: "txt", DType: shardify.U8, Levels: 1, Media: "txt", Nullable: true}, "txt", MemberBytes, nil},
	} {
		members, err := Members(append([]shardify.Field{c.field}, c.more...))
		if err != nil || len(members) != 1 || members[0].Name != c.name || members[0].Kind != c.kind {
			t.Errorf("field %s of %s %s: %+v, error %v; want %s of kind %d", c.field.Name, c.field.DType, c.field.Media, members, err, c.name, c.kind)
			continue
		}
		if err := checkMemberName(members[0].NameOf(0)); err != nil {
			t.Errorf("field %s: %v", c.field.Name, err)
		}
	}
}

// TestMembersRefuse: what a tar cannot carry is refused at plan time, by name
// and with what would help.
func TestMembersRefuse(t *testing.T) {
	null := func(f shardify.Field) shardify.Field { f.Nullable = true; return f }
	for _, c := range []struct {
		text   string
		schema []shardify.Field
	}{
		{"x and X", []shardify.Field{scalar("x", shardify.F32), scalar("X", shardify.F32)}},
		{"a_b and a b", []shardify.Field{scalar("a_b", shardify.F32), scalar("a b", shardify.I8)}},
		{"image and jpg", []shardify.Field{opaque("image", "image"), exts("image", "png\njpg"), opaque("jpg", "jpg")}},
		{"--format mmap", []shardify.Field{null(scalar("x", shardify.F32))}},
		{"--format mmap", []shardify.Field{{Name: "x", DType: shardify.F32, Levels: 2}}},
		{"--format mmap", []shardify.Field{{Name: "x", DType: shardify.U8, Levels: 2, Media: "jpg"}}},
		{"cast to f32", []shardify.Field{scalar("x", shardify.BF16)}},
		{"image.ext", []shardify.Field{opaque("image", "image")}},
		{"0 extensions", []shardify.Field{opaque("image", "image"), {Name: "image.ext", DType: shardify.U8}}},
		{"listed twice", []shardify.Field{opaque("image", "image"), exts("image", "jpg\njpg")}},
		{"a-z", []shardify.Field{opaque("image", "image"), exts("image", "jpg\nJP G")}},
		{"33 dimensions", []shardify.Field{{Name: "x", DType: shardify.U8, Shape: make([]int, 33)}}},
		{"at most 98 bytes", []shardify.Field{scalar(strings.Repeat("n", 100), shardify.F32)}},
	} {
		_, err := Members(c.schema)
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("error %v, want a schema mismatch with %q", err, c.text)
		}
	}
}

// TestMembersOfAManifest: names come from the manifest, and must fit the schema.
func TestMembersOfAManifest(t *testing.T) {
	schema := []shardify.Field{scalar("x", shardify.F32), opaque("image", "image"), exts("image", "jpg\npng")}
	names, err := MemberNames(schema)
	if err != nil || len(names) != 2 || names["x"] != "x.npy" || names["image"] != "*" {
		t.Fatalf("%v, error %v", names, err)
	}
	names["x"] = "other.npy" // another version may name it so
	members, err := MembersOf(schema, names)
	if err != nil || members[0].Name != "other.npy" {
		t.Fatalf("%+v, error %v", members, err)
	}
	for _, bad := range []map[string]string{
		nil, {"x": "x.npy"}, {"x": "x.npy", "image": "*", "y": "y.npy"}, {"x": "png", "image": "*"}, {"x": "X.npy", "image": "*"},
		{"x": "x.npy", "image": "jpg"}, {"x": "*", "image": "*"}, {"x": "", "image": "*"}, {"x": "a/b", "image": "*"},
	} {
		if _, err := MembersOf(schema, bad); !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestSortMembers(t *testing.T) {
	members, err := Members([]shardify.Field{opaque("image", "image"), exts("image", "jpg\npng\nbmp"), scalar("cls", shardify.I64), scalar("k", shardify.F32)})
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range [][]int{{1, 0, 2}, {1, 2, 0}, {0, 1, 2}} { // cls jpg k.npy; cls k.npy png; bmp cls k.npy
		if got := SortMembers(members, []int{code, 0, 0}); !slices.Equal(got, want) {
			t.Errorf("extension %d: order %v, want %v", code, got, want)
		}
	}
}
