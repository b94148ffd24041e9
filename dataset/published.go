package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// replaced reports whether a manifest may be that of a split that took the place of another one: these
// name it and say no more of the change, which the manifest of the set has. Both keys are at the end.
func replaced(b []byte) bool {
	at := bytes.LastIndex(b, []byte(`"previous": "`))
	return at >= 0 && !bytes.Contains(b[at:], []byte(`"change": {`))
}

// Published is what the text of a manifest stands for. A new version of a set of splits replaces their
// manifests one by one, and that of the set last. Until then each split is the one that the manifest of the set
// names, which is kept; and so it is after a kill. In an object store the manifest of a split may also be that of
// a writer that came too late. Of any other manifest it is the text.
func Published(ctx context.Context, in storage.FS, name string, b []byte) ([]byte, error) {
	if filepath.Base(name) != index.ManifestName || !replaced(b) {
		return b, nil
	}
	dir, err := storage.Abs(storage.Dir(name))
	if err != nil {
		return nil, err
	}
	split, whole := filepath.Base(dir), storage.Dir(dir)
	if whole == dir || strings.HasSuffix(whole, "://") {
		return b, nil
	}
	for again := Refetches; ; again-- {
		root, err := readText(ctx, in, storage.Join(whole, index.ManifestName))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return b, nil // a set by itself
		}
		var m *index.Manifest
		if err == nil {
			m, err = index.DecodeManifest(root)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, of which this is a split: %w", storage.Join(whole, index.ManifestName), err)
		}
		want := m.Splits[split].Digest
		if now, err := index.DecodeManifest(b); want == "" || err != nil || now.Digest == want {
			return b, nil // the error is that of the caller, who has the name
		}
		for _, at := range []string{index.KeptName(m.VersionNumber(), split), index.PendingName(want)} {
			kept, err := readText(ctx, in, storage.Join(whole, at))
			if err == nil {
				if old, err := index.DecodeManifest(kept); err == nil && old.Digest == want {
					return kept, nil
				}
			} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
				return nil, err
			}
		}
		// Perhaps it was published between the two reads.
		now, err := readText(ctx, in, name)
		if err != nil {
			return b, err
		}
		if again == 0 || bytes.Equal(now, b) {
			return nil, shardify.Corrupt(-1, "the manifest of the set, %s, names another version of this split, which is neither here nor kept", storage.Join(whole, index.ManifestName))
		}
		b = now
	}
}
