package order

import "testing"

// TestOffset compares with the formula of docs/design/loader.md, computed by a program in another language.
func TestOffset(t *testing.T) {
	for _, c := range []struct {
		seed      uint64
		epoch     int
		sample, n int64
		want      int64
	}{
		{0, 0, 0, 2048, 1102},
		{0, 0, 2048, 2048, 1437},
		{5, 3, 4096, 2048, 478},
		{1<<63 + 1, MaxEpoch - 1, 1 << 47, 1000003, 787597},
	} {
		o, err := New(Config{Shuffle: None, Seed: c.seed, Parts: []int64{1}})
		if err != nil {
			t.Fatal(err)
		}
		if have := o.Offset(c.epoch, c.sample, c.n); have != c.want {
			t.Errorf("seed %d, epoch %d, sample %d: %d, want %d", c.seed, c.epoch, c.sample, have, c.want)
		}
	}
}
