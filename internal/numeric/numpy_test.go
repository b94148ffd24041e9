package numeric

import "testing"

func TestNumpyType(t *testing.T) {
	for _, s := range []string{"<f4", "|u1", "<U12", "|S0", "|V2", "<M8[10ms]", "<M8[ns]", "<m8", "|O", "?", "|b1", "<f16", "<c32", "<f1", "float32", "bfloat16", "|T16", "q", "datetime64[ns]"} {
		if !NumpyType(s) {
			t.Errorf("%q is a type of NumPy", s)
		}
	}
	for _, s := range []string{"", "<", "<f\x9d", "<f3", "<q9", "<i5", "<f4x", "<M8[furlong]", "float33", "<<f4", "<V-2", "b2"} {
		if NumpyType(s) {
			t.Errorf("%q is not a type of NumPy", s)
		}
	}
}
