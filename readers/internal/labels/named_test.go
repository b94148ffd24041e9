package labels

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

func pets() *format.Table {
	t := &format.Table{Roots: []string{"here/pets", "there/pets"}}
	for _, n := range []string{"cat/a.npy", "dog/b.npy"} {
		t.Append(0, n, 1, 0)
	}
	t.Append(1, "cat/a.npy", 1, 0)
	return t
}

// finished is the name and class that a sample gets.
func finished(n *Named, input uint32) (key string, class int64, err error) {
	mem, err := shardify.NewPool(1<<20).Grant(context.Background(), 1)
	if err != nil {
		return "", 0, err
	}
	defer mem.Release()
	b := &shardify.Batch{Samples: 1}
	if err := n.Finish(b, input, mem); err != nil {
		return "", 0, err
	}
	if b.Keys != nil {
		key = string(b.Keys.Data)
	}
	if len(b.Columns) > 0 {
		class = int64(b.Columns[0].Data[0])
	}
	return key, class, b.Match(n.Fields())
}

// A plan is read where the inputs are in other folders.
func TestNamesAreThoseOfThePlan(t *testing.T) {
	n, err := Name(&format.OpenArgs{Table: pets()}, []uint32{0, 1, 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	state, err := n.State([]byte("files"))
	if err != nil {
		t.Fatal(err)
	}
	moved := pets()
	moved.Roots = []string{"a", "b"}
	again, rest, err := ReadNamed(state, moved)
	if err != nil || string(rest) != "files" {
		t.Fatalf("%q, %v", rest, err)
	}
	for i, want := range []string{"pets-0/cat/a", "pets-1/cat/a"} {
		key, class, err := finished(again, uint32(2*i))
		if key != want || class != 0 || err != nil {
			t.Errorf("sample %d is %q of class %d, %v; want %q", i, key, class, err, want)
		}
	}
	if _, class, err := finished(again, 1); class != 1 || err != nil {
		t.Errorf("dog/b is of class %d, %v", class, err)
	}
	other := pets()
	other.Append(0, "eel/c.npy", 1, 0)
	if again, _, err = ReadNamed(state, other); err != nil {
		t.Fatal(err)
	}
	if _, _, err := finished(again, 3); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a folder that is not a class: %v", err)
	}
}

func FuzzReadNamed(f *testing.F) {
	n, err := Name(&format.OpenArgs{Table: pets()}, []uint32{0, 1, 2}, nil)
	if err != nil {
		f.Fatal(err)
	}
	state, err := n.State([]byte("files"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Add(state[:len(state)/2])
	f.Add([]byte("\x01files"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, rest, err := ReadNamed(b, pets())
		if err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) {
				t.Error(err)
			}
			return
		}
		if n == nil {
			if !bytes.Equal(rest, b) {
				t.Error("bytes of a state without names were taken")
			}
			return
		}
		n.Inputs([]uint32{0, 1, 2})
		for i := range uint32(3) {
			if _, _, err := finished(n, i); err != nil && !errors.Is(err, shardify.ErrCorrupt) {
				t.Error(err)
			}
		}
	})
}
