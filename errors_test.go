package shardify

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

// TestKindsAreToldOnce: what the words of an error say already is not said again.
func TestKindsAreToldOnce(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{Mismatch("x is 3, not 4"), "x is 3, not 4"},
		{Unsupported("szip of x"), "szip of x"},
		{Corrupt(7, "crc"), "at byte 7: crc: corrupt data"},
		{fmt.Errorf("merge: %w: %w", Mismatch("x is 3"), ErrCorrupt), "merge: x is 3: corrupt data"},
		{fmt.Errorf("a: %w; b: %w", Corrupt(-1, "crc"), Corrupt(-1, "cut short")), "a: crc; b: cut short: corrupt data"},
		{fmt.Errorf("%w (2 of 3 files)", Mismatch("no x")), "no x (2 of 3 files)"},
		{errors.New("open f: not supported.txt: gone"), "open f: not supported.txt: gone"},
	} {
		if got := Plain(c.err); got != c.want {
			t.Errorf("%q is shown as %q, want %q", c.err, got, c.want)
		}
	}
}

// TestMisuseIsASchemaErrorAndUsage both as it is made and as it is added.
func TestMisuseIsASchemaErrorAndUsage(t *testing.T) {
	err := error(Misuse("no field %q", "x"))
	if !errors.Is(err, ErrSchema) || !errors.Is(err, ErrUsage) || Plain(err) != `no field "x"` {
		t.Errorf("%v", err)
	}
	err = Misused(Corrupt(3, "cut"))
	if !errors.Is(err, ErrCorrupt) || !errors.Is(err, ErrUsage) || err.Error() != "at byte 3: cut: corrupt data" || Misused(nil) != nil {
		t.Errorf("%v", err)
	}
	var e *Error
	if !errors.As(err, &e) || e.Offset != 3 {
		t.Errorf("%+v", e)
	}
}

// TestMembersAreNamedOnce: where the file is the member of an archive, the object has no second place.
func TestMembersAreNamedOnce(t *testing.T) {
	e := &Error{Op: "read", File: "a.zip/dog/0.png", Object: "dog/0.png", Field: "png", Sample: 2, Offset: 129, Err: ErrCorrupt}
	if got := e.Error(); got != "read a.zip/dog/0.png png sample 2 at byte 129: corrupt data" {
		t.Error(got)
	}
}

func TestFilesAreNamedOnce(t *testing.T) {
	e := &Error{Op: "open", File: "a/b.mrcs", Sample: 2, Offset: -1, Err: &fs.PathError{Op: "open", Path: "a/b.mrcs", Err: fs.ErrNotExist}}
	if got := e.Error(); got != "open a/b.mrcs sample 2: file does not exist" || !errors.Is(e, fs.ErrNotExist) {
		t.Error(got)
	}
}
