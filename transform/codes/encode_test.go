package codes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	_ "github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

func TestVocabularyIsSorted(t *testing.T) {
	texts := []string{"tau", "el", "", "mu", "el", "Z", "é"}
	var data []byte
	off := []int64{0}
	for _, s := range texts {
		data = append(data, s...)
		off = append(off, int64(len(data)))
	}
	c := shardify.Column{Field: shardify.Field{Name: "p", DType: shardify.U8, Levels: 1, Media: "txt"}, Data: data, Offsets: [][]int64{off}}
	ids := transformtest.Column("i", shardify.I32, shardify.Bytes([]int32{11, -13, 11, 211, -211, 9, 0}))
	b := &shardify.Batch{Samples: 7, Columns: []shardify.Column{c, ids}}
	mem := transformtest.Arena(t)
	for name, want := range map[string]string{"p": "\nZ\nel\nmu\ntau\né|4 2 0 3 2 1 5", "i": "-211\n-13\n0\n9\n11\n211|4 1 4 5 0 3 2"} {
		e := transformtest.Made[*encodeField](t)(newEncode(&op.Env{}, name))
		if _, err := e.Schema(transformtest.SchemaOf(b)); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Apply(b, 0, mem); err == nil {
			t.Error("codes without a vocabulary")
		}
		fields := transformtest.Survey(t, e, b, transformtest.SchemaOf(b), mem)
		out, err := e.Apply(b, 0, mem)
		if err != nil {
			t.Fatal(err)
		}
		i := shardify.FieldIndex(fields, name)
		got := fields[i].Attrs["labels"] + "|" + strings.Trim(fmt.Sprint(shardify.View[int64](out.Columns[i].Data)), "[]")
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		strange := &shardify.Batch{Samples: 1, Columns: transformtest.Part(t, b, 0, 1, mem).Columns}
		if name == "p" {
			strange.Columns[0].Data = []byte("XYZ")
		} else {
			strange.Columns[1].Data = shardify.Bytes([]int32{77})
		}
		if _, err := e.Apply(strange, 0, mem); err == nil || !strings.Contains(err.Error(), "was not there") {
			t.Errorf("%s: a new value: %v", name, err)
		}
	}
	bad := c
	bad.Data = []byte("a\nb")
	bad.Offsets = [][]int64{{0, 3}}
	e := transformtest.Made[*encodeField](t)(newEncode(&op.Env{}, "p"))
	if _, err := e.Schema([]shardify.Field{bad.Field}); err != nil {
		t.Fatal(err)
	}
	if err := e.NewSurvey().Add(&shardify.Batch{Samples: 1, Columns: []shardify.Column{bad}}); err == nil || !strings.Contains(err.Error(), "line feed") {
		t.Errorf("a line feed in a value: %v", err)
	}
}
