package dataset

import (
	"context"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// ID is the id of a set by its folder or manifest, with the digest of that manifest. Of a set of
// splits it reads the manifest of each.
func ID(ctx context.Context, in storage.FS, path string) (id, digest string, err error) {
	b, m, err := manifestText(ctx, in, path)
	if err != nil {
		return "", "", err
	}
	splits := map[string]string{}
	for split, want := range m.Splits {
		dir := storage.Join(Folder(path), split)
		b, m, err := manifestText(ctx, in, dir)
		switch {
		case err != nil:
			return "", "", err
		case m.Digest != want.Digest:
			err = shardify.Corrupt(-1, "xxh3 is %s, %s says %s", m.Digest, ManifestPath(path), want.Digest)
		case len(m.Splits) > 0:
			err = shardify.Corrupt(-1, "splits inside a split")
		default:
			splits[split], err = index.ID(b, nil)
		}
		if err != nil {
			return "", "", shardify.Annotate(err, "open", ManifestPath(dir), "")
		}
	}
	id, err = index.ID(b, splits)
	return id, m.Digest, shardify.Annotate(err, "open", ManifestPath(path), "")
}

// manifestText is a manifest with its text.
func manifestText(ctx context.Context, in storage.FS, path string) ([]byte, *index.Manifest, error) {
	name := ManifestPath(path)
	b, err := ReadManifest(ctx, in, name)
	if err != nil {
		return nil, nil, shardify.Annotate(Absent(ctx, in, name, err), "open", name, "")
	}
	m, err := index.DecodeManifest(b)
	return b, m, shardify.Annotate(err, "open", name, "")
}

// Is makes sure that the set has an id, or that the set has it of which this is a split.
func (s *Set) Is(ctx context.Context, want string) error {
	if s.Foreign {
		return shardify.Annotate(shardify.Unsupported("a set without %s has no id: shardify convert makes a set that has one", index.ManifestName), "open", s.Path, "")
	}
	digest, err := CheckID(ctx, s.FS, s.Path, want)
	if err == nil && digest != s.Digest {
		err = shardify.Annotate(shardify.Mismatch("the set was changed while it was opened"), "open", ManifestPath(s.Path), "")
	}
	return err
}

// CheckID makes sure that a set has an id, or that the set has it of which this is a split. It
// returns the digest of the manifest.
func CheckID(ctx context.Context, in storage.FS, path, want string) (digest string, err error) {
	if !index.ValidID(want) {
		return "", shardify.Misuse("id %q: want %s and 32 digits, as shardify id %s prints it", want, index.IDPrefix, Folder(path))
	}
	have, digest, err := ID(ctx, in, path)
	if err != nil || have == want {
		return digest, err
	}
	split, err := storage.Abs(Folder(path))
	if err != nil {
		return "", err
	}
	if name := filepath.Base(split); name != "/" {
		dir := storage.Dir(split)
		if m, err := readManifest(ctx, in, storage.Join(dir, index.ManifestName)); err == nil && m.Splits[name].Digest == digest {
			whole, _, err := ID(ctx, in, dir)
			if err != nil || whole == want {
				return digest, err
			}
		}
	}
	return "", shardify.Annotate(shardify.Mismatch("this is not the set %s: its id is %s", want, have), "open", ManifestPath(path), "")
}

// Are makes sure that sets have ids, one for each.
func Are(ctx context.Context, sets []*Set, ids []string) error {
	if len(ids) != len(sets) {
		return shardify.Misuse("%d ids for %d data sets: want one for each", len(ids), len(sets))
	}
	for i, s := range sets {
		if err := s.Is(ctx, ids[i]); err != nil {
			return err
		}
	}
	return nil
}
