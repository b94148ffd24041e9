package tokenize

import "testing"

// TestScoresAreThoseOfTheReference: numbers that tokenizers reads otherwise than strconv does, of
// a vocabulary that it made, and the ends of what numbers are.
func TestScoresAreThoseOfTheReference(t *testing.T) {
	for text, want := range map[string]float64{
		"-7.3034135570084855":        -0x1.d36b20b220ed2p+2, // the nearest ends in d3
		"-7.3303398239338025":        -0x1.d52449a5172c6p+2, // c5
		"-7.3623616564514585":        -0x1.d730eef1f2235p+2, // 34
		"-7.5019842094184055":        -0x1.e0208260a3deap+2, // eb
		"-12345678901234567890123.5": -0x1.4ea15b273b38ap+73, "123e5": 12300000, "0.1e-3": 0x1.a36e2eb1c432dp-14, "3.0e+2": 300,
		"1e-330": 0, "0": 0, "5e-324": 5e-324, "1.7976931348623157e308": 0x1.fffffffffffffp+1023, "0e99999999999999999999": 0, "1e-99999999999999999999": 0, "0.1e-9223372036854775808": 0,
	} {
		if got := scoreOf([]byte(text)); got != want {
			t.Errorf("%s: %x, want %x", text, got, want)
		}
		var s scored
		if err := s.UnmarshalJSON([]byte(`["a", ` + text + `]`)); err == nil && s.score != want {
			t.Errorf("%s in a vocabulary: %x, want %x", text, s.score, want)
		}
	}
}
