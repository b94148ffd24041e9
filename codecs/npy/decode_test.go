package npy

import (
	"testing"
)

// FuzzOpen: no input makes a panic, or values of another size than the shape says.
func FuzzOpen(f *testing.F) {
	f.Add(append(npyHeader(1, "{'descr': '<c8', 'fortran_order': True, 'shape': (2, 1, 3), }"), make([]byte, 48)...))
	f.Add(append(npyHeader(2, "{'descr': '>i2', 'fortran_order': False, 'shape': (), }"), 1, 2))
	f.Add(npyHeader(1, "{'descr': '|b1', 'fortran_order': True, 'shape': (4, 0), }"))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := Open(file)
		if err != nil {
			return
		}
		n := a.DType().Size()
		for _, d := range a.Shape() {
			n *= d
		}
		if got, err := a.Append([]byte("x")); err != nil || len(got) != n+1 || got[0] != 'x' {
			t.Fatalf("%d bytes of %v %v, %v", len(got)-1, a.DType(), a.Shape(), err)
		}
	})
}
