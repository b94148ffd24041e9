package order

import (
	"encoding/json"
	"testing"
)

func FuzzState(f *testing.F) {
	good, _ := (&State{Fingerprint: "f", Order: "none samples=3", Seed: 1<<64 - 1, Epoch: 2, Position: 3}).Encode()
	f.Add(good)
	f.Add([]byte(`{"shardify_loader":1,"epoch":-1}`))
	f.Add([]byte(`{"shardify_loader":1,"position":9e9}x`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeState(b)
		if err != nil {
			return
		}
		again, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := DecodeState(again); err != nil || back != s {
			t.Fatalf("%s: %v, %+v after %+v", again, err, back, s)
		}
		if !json.Valid(again) {
			t.Fatal("not JSON")
		}
	})
}
