package moves

import "testing"

func TestAMoveIsWrittenAsNumbers(t *testing.T) {
	for _, want := range []Move{Oriented(7, 9, 6), Cut(7, 9, 1, 2, 3, 4, 50, 60), Turned(7, 9, 0.6, 0.8)} {
		var x [Numbers]float64
		want.Write(x[:])
		if got := Of(x[:]); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
