package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

const (
	signersKey = "RWTB5kv9oWDtPUo3BlCfHNPrNvktszY3pU/Q8Yv6wZJaF4MQ1+xSNhyV"
	othersKey  = "RWS/b9bYZXNT9UifpilGQrbRL1p3EKQXzdKVd1B5UQzbRlknp5ncOlW7"
)

// TestSignatureIsCheckedBeforeTheSet: minisign signed the text {"shardify": 1} in its testdata, which is no
// whole manifest. So a right signature lets the check go on, which then finds that.
func TestSignatureIsCheckedBeforeTheSet(t *testing.T) {
	dir := t.TempDir()
	copied := func(from, to string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join("../internal/minisign/testdata", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(key string) (*Report, error) {
		return Run(context.Background(), Options{Dir: dir, PublicKey: key})
	}
	copied("message", "shardify.json")
	if _, err := run(signersKey); err == nil || !strings.Contains(err.Error(), "the manifest is not signed") {
		t.Error(err)
	}
	copied("hashed.minisig", "shardify.json.minisig")
	r, err := run(signersKey)
	if err != nil || r.Signed != `key 3DED60A1FD4BE6C1, "set of 2026-11-23"` || r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := run(othersKey); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "shardify.json.minisig") {
		t.Error(err)
	}
	if _, err := run("RW"); !errors.Is(err, shardify.ErrUsage) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shardify.json"), []byte("{\"shardify\": 2}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := run(signersKey); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "was changed") {
		t.Error(err)
	}
}

// TestWhatWasSignedIsWhatIsChecked: a manifest that a store returns later is not used.
func TestWhatWasSignedIsWhatIsChecked(t *testing.T) {
	dir := t.TempDir()
	for from, to := range map[string]string{"message": "shardify.json", "hashed.minisig": "shardify.json.minisig"} {
		b, err := os.ReadFile(filepath.Join("../internal/minisign/testdata", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	store, err := storages.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := &counted{Store: store}
	if _, err := Run(context.Background(), Options{Dir: dir, Store: x, PublicKey: signersKey}); err != nil || x.manifests != 1 {
		t.Errorf("the manifest was opened %d times; %v", x.manifests, err)
	}
}

// counted counts how often the manifest is opened.
type counted struct {
	storage.Store
	manifests int
}

func (c *counted) Open(name string) (storage.Blob, error) {
	if name == "shardify.json" {
		c.manifests++
	}
	return c.Store.Open(name)
}
