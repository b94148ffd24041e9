package local

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
)

// TestTornFilesAreReplacedAndOthersNot: what a power cut has left of a file that was not
// synced is no reason to fail; a file with anything else in it stays.
func TestTornFilesAreReplacedAndOthersNot(t *testing.T) {
	whole := bytes.Repeat([]byte("0123456789"), 60_000) // more than one buffer
	hole := bytes.Clone(whole)
	clear(hole[300_000:400_000])
	late := bytes.Clone(whole)
	late[len(late)-1] = 'x'
	for _, c := range []struct {
		name  string
		there []byte
		torn  bool
	}{
		{"empty", nil, true}, {"cut", whole[:300_001], true}, {"zeros", make([]byte, len(whole)), true}, {"hole", hole, true},
		{"other", []byte("mine"), false}, {"last byte", late, false}, {"longer", append(bytes.Clone(whole), 0), false},
	} {
		dir := t.TempDir()
		name := filepath.Join(dir, "shard")
		if err := os.WriteFile(name, c.there, 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := NewDir(dir, SyncEnd).Create("shard")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(whole); err != nil {
			t.Fatal(err)
		}
		err = p.Commit(context.Background())
		got, _ := os.ReadFile(name)
		if c.torn && (err != nil || !bytes.Equal(got, whole)) {
			t.Errorf("%s: not replaced: %v", c.name, err)
		}
		if !c.torn && (!errors.Is(err, shardify.ErrExists) || !bytes.Equal(got, c.there)) {
			t.Errorf("%s: replaced: %v", c.name, err)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, tempDir)); len(left) > 0 {
			t.Errorf("%s: left %v", c.name, left)
		}
	}
}
