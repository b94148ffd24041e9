package lists

import (
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

// TestAListOfBoolsIsPaddedWithTheOthersOfItsCounter: the value that fills up is 0 if none
// is given, which is false.
func TestAListOfBoolsIsPaddedWithTheOthersOfItsCounter(t *testing.T) {
	mem := transformtest.Arena(t)
	b := transformtest.Invent(t, "a:f32*9@J,id:bool*9@J", 97, mem)
	for _, text := range []string{"J=9", "J=9:0", "J=9:1"} {
		padded := transformtest.Run(t, transformtest.Made[*padLists](t)(newPad(&op.Env{}, text)), b)
		id, mask := padded.Columns[1].Data, padded.Columns[2].Data
		fill := byte(0)
		if text == "J=9:1" {
			fill = 1
		}
		short := false
		for i, real := range mask {
			if real == 0 {
				short = true
				if id[i] != fill {
					t.Fatalf("%s: element %d is %d", text, i, id[i])
				}
			}
		}
		if !short {
			t.Fatal("no list is shorter")
		}
	}
}

// TestPadTakesACounterThatIsAField: so are those of ROOT, and nJet=8 means its lists.
func TestPadTakesACounterThatIsAField(t *testing.T) {
	in := []shardify.Field{
		{Name: "nJet", DType: shardify.U32}, {Name: "pt", DType: shardify.F32, Levels: 1, Counter: "nJet"},
		{Name: "eta", DType: shardify.F32, Levels: 1, Counter: "nJet"}, {Name: "other", DType: shardify.F32, Levels: 1},
	}
	for _, name := range []string{"nJet", "Jet"} {
		out, err := transformtest.Made[*padLists](t)(newPad(&op.Env{}, name+"=8")).Schema(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out[0].Levels != 0 || len(out[0].Shape) != 0 || out[1].Shape[0] != 8 || out[2].Shape[0] != 8 || out[3].Levels != 1 || out[4].Name != name+"_mask" {
			t.Errorf("%s: %+v", name, out)
		}
	}
}
