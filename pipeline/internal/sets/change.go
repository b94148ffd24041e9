package sets

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// provenance reports whether the field origin is the one that --provenance makes.
func provenance(m *index.Manifest) bool {
	return m.Recipe["provenance"] == "true" && shardify.FieldIndex(m.Schema, plan.OriginField) >= 0
}

// needs returns how shards of set b must be changed to follow others, and why. rewrite is nil if
// their bytes stay.
func needs(b *Set, schema []shardify.Field, inputs int64) (rewrite format.Rewrite, why string, err error) {
	f, _, err := sink(b.Manifest)
	if err != nil {
		return nil, "", shardify.Annotate(err, "merge", b.Dir, "")
	}
	m := format.Move{From: b.Manifest.Schema, To: schema, Keyed: b.Manifest.Keyed, Inputs: inputs}
	if inputs > 0 && provenance(b.Manifest) {
		m.Origin = plan.OriginField
	}
	if f.Move != nil {
		rewrite, why = f.Move(m)
	} else if m.Origin != "" {
		err = mismatch(b.Dir, "field %s: the inputs of this set would get other numbers, which %s shards hold: convert the inputs of all sets into one", m.Origin, f.Name)
	}
	return rewrite, why, err
}

// rewriteTo rewrites one shard under the name that as has, and completes as.
func rewriteTo(ctx context.Context, store storage.Store, path string, rewrite format.Rewrite, from, as *shardify.Shard) error {
	in, st, err := local.OpenOwn(path)
	if err != nil {
		return err
	}
	defer in.Close()
	if st.Size() != from.Bytes {
		return shardify.Annotate(shardify.Corrupt(-1, "the manifest says %d bytes, the file has %d", from.Bytes, st.Size()), "read", path, "")
	}
	out, err := store.Create(as.Name)
	if err != nil {
		return err
	}
	defer out.Abort()
	if as.Bytes, as.Digest, err = rewrite(ctx, in, *from, out); err != nil {
		return shardify.Annotate(err, "read", path, "")
	}
	return out.Commit(ctx)
}
