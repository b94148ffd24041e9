package sets

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers"
)

// eachKey reads the names of all samples of a set without splits. Formats that we do
// not read have no names that must differ.
func eachKey(ctx context.Context, s *Set, f func(key []byte) error) error {
	kind, ok := readers.Lookup(s.Manifest.Format)
	if !ok || !kind.Sets {
		return nil
	}
	t := &format.Table{Roots: []string{s.Dir}}
	t.Append(0, index.ManifestName, format.SizeUnknown, 0)
	src, err := kind.Open(ctx, format.OpenArgs{Table: t})
	if err != nil {
		return err
	}
	defer src.Close()
	if k, ok := src.(format.Keyer); ok {
		return k.CheckKeys(-1, f)
	}
	return nil
}

// unique refuses names that come twice in all of the sets.
func unique(ctx context.Context, sets []*Set) error {
	var u dataset.Unique
	for _, s := range sets {
		if err := eachKey(ctx, s, func(key []byte) error { u.Add(key); return nil }); err != nil {
			return err
		}
	}
	twice := u.Twice()
	if len(twice) == 0 {
		return nil
	}
	where := map[string]string{}
	var bad error
	for _, s := range sets {
		err := eachKey(ctx, s, func(key []byte) error {
			if !twice.Has(key) || bad != nil {
				return nil
			}
			if other, ok := where[string(key)]; ok {
				bad = mismatch(s.Dir, "sample %.100q is in %s too: names must differ", key, other)
				return nil
			}
			where[string(key)] = s.Dir
			return nil
		})
		if err != nil {
			return err
		}
	}
	return bad
}

// uniqueBeside refuses names of a source that a set has already.
func uniqueBeside(ctx context.Context, sets []*Set, k format.Keyer) error {
	var u dataset.Unique
	take := func(key []byte) error { u.Add(key); return nil }
	for _, s := range sets {
		if err := eachKey(ctx, s, take); err != nil {
			return err
		}
	}
	if err := k.CheckKeys(-1, take); err != nil {
		return err
	}
	twice := u.Twice()
	if len(twice) == 0 {
		return nil
	}
	where := map[string]string{}
	for _, s := range sets {
		err := eachKey(ctx, s, func(key []byte) error {
			if twice.Has(key) {
				where[string(key)] = s.Dir
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	return k.CheckKeys(-1, func(key []byte) error {
		if !twice.Has(key) {
			return nil
		}
		if dir, ok := where[string(key)]; ok {
			return shardify.Mismatch("sample %.100q is in %s already", key, dir)
		}
		if seen[string(key)] {
			return shardify.Mismatch("sample %.100q comes twice", key)
		}
		seen[string(key)] = true
		return nil
	})
}

// uniqueKeys is unique for each set that will be.
func (m *merger) uniqueKeys(ctx context.Context) error {
	if !m.sets[0].Manifest.Keyed {
		return nil
	}
	var all []*Set
	for _, name := range m.names {
		all = append(all, m.into[name].from...)
	}
	return unique(ctx, all)
}
