package poison

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestMakeTurnsItOn: the linker says nothing of a variable that it does not find.
func TestMakeTurnsItOn(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	type here struct{}
	if want := "-X " + reflect.TypeFor[here]().PkgPath() + ".on=yes"; !strings.Contains(string(text), want) {
		t.Errorf("the Makefile has no %q", want)
	}
	was := on
	defer func() { on = was }()
	for _, on = range []string{"", "yes"} {
		b := make([]byte, 3)
		Fill(b)
		if want := bytes.Repeat([]byte{0xdb}, 3); On() != (on == "yes") || bytes.Equal(b, want) != On() {
			t.Errorf("%q: %v, %x", on, On(), b)
		}
	}
}
