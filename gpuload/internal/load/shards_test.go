package load

import "testing"

// TestAShardIsForgottenOnce: one that was written to is forgotten when that is seen, and not again
// when its last sample is read, as it may have been opened again by then.
func TestAShardIsForgottenOnce(t *testing.T) {
	sh := new(Shard)
	sh.left.Store(5)
	old, again := &OpenShard{Shard: sh, refs: 1, held: 10}, &OpenShard{Shard: sh, refs: 1, held: 10}
	s := &Shards{Hold: 100, Kept: []*OpenShard{old}, held: 10}
	s.drop(old)
	sh.open, s.Kept, s.held = again, append(s.Kept, again), s.held+10
	s.read(old, 5)
	if sh.open != again || s.held != 10 || len(s.Kept) != 1 {
		t.Errorf("%d bytes in memory, %d shards", s.held, len(s.Kept))
	}
}
