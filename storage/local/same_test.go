package local

import (
	"bytes"
	"io"
	"syscall"
	"testing"
	"testing/iotest"
)

// TestWhatCannotBeReadIsNotOtherContent: an error of one of the files is reported, wherever
// it occurs.
func TestWhatCannotBeReadIsNotOtherContent(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 60_000)
	for _, at := range []int{0, 1, 256 << 10, len(data) - 1, len(data)} {
		good := func() io.Reader { return bytes.NewReader(data) }
		bad := func() io.Reader { return io.MultiReader(bytes.NewReader(data[:at]), iotest.ErrReader(syscall.EIO)) }
		if same, err := sameBytes(good(), bad()); same || err != syscall.EIO {
			t.Errorf("second fails at %d: %v, %v", at, same, err)
		}
		if same, err := sameBytes(bad(), good()); same || err != syscall.EIO {
			t.Errorf("first fails at %d: %v, %v", at, same, err)
		}
	}
	other := bytes.Clone(data)
	other[300_000] ^= 1
	for _, b := range [][]byte{other, data[:len(data)-1], nil} {
		if same, err := sameBytes(bytes.NewReader(data), bytes.NewReader(b)); same || err != nil {
			t.Errorf("%d bytes: %v, %v", len(b), same, err)
		}
	}
	if same, err := sameBytes(bytes.NewReader(data), bytes.NewReader(data)); !same || err != nil {
		t.Errorf("%v, %v", same, err)
	}
}
