package parquet

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// tableFormats are tables whose folders hold files that no longer count, by what gives
// them away. Their logs list the files that do count.
var tableFormats = []tableFormat{
	{"_delta_log", "", "Delta table", `deltalake.DeltaTable("x").file_uris() in Python`},
	{".hoodie", "", "Hudi table", "Spark"},
	{"metadata", ".metadata.json", "Iceberg table", `table.inspect.files() of pyiceberg`},
}

type tableFormat struct{ mark, ends, name, cure string }

// marks reports whether a folder is such a table: it has a folder mark, with a file in it
// whose name ends so.
func (f *tableFormat) marks(ctx context.Context, in storage.FS, root string) bool {
	dir := strings.TrimSuffix(root, "/") + "/" + f.mark
	if f.ends == "" {
		_, err := in.Stat(ctx, dir)
		return err == nil
	}
	for e, err := range in.List(ctx, dir) {
		if err != nil {
			return false
		}
		if strings.HasSuffix(e.Name, f.ends) {
			return true
		}
	}
	return false
}

// checkFolders refuses folders of which some files are not part of the table.
func checkFolders(ctx context.Context, t *format.Table) error {
	if t == nil {
		return nil
	}
	for _, root := range t.Roots {
		in := storages.Of(t)
		if st, err := in.Stat(ctx, root); err != nil || st.Type != storage.Folder {
			continue
		}
		for _, f := range tableFormats {
			if f.marks(ctx, in, root) {
				err := shardify.Unsupported("a %s, of which removed rows are still in the folder: give the files that count, as --files-from; they are listed by %s", f.name, f.cure)
				return shardify.Annotate(err, "open", root, "")
			}
		}
	}
	return nil
}

// unread says why a file found in a folder is not part of the table: as for Spark and Arrow,
// names that begin with _ are of files being written, or about others.
func (p *partitions) unread(path string) string {
	for _, name := range strings.Split(p.below(path), "/") {
		if strings.HasPrefix(name, "_") && !strings.Contains(name, "=") {
			return "names that begin with _ are no data for Spark and Arrow: given as an input of its own such a file is read"
		}
	}
	return ""
}

// below is a file's slash path below the folder that was given; "" for files that were
// given themselves.
func (p *partitions) below(path string) string {
	rel := ""
	for _, r := range p.roots {
		if r == "" {
			continue
		}
		below, err := filepath.Rel(r, path)
		if err == nil && filepath.IsLocal(below) && below != "." && (rel == "" || len(below) < len(rel)) {
			rel = below
		}
	}
	return filepath.ToSlash(rel)
}
