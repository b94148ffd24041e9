package root

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// friend is a table to be joined to the one of each input, entry by entry.
type friend struct {
	file   string // "" is the input itself; "{}" in it stands for the input's name without .root
	object string // "" is the only table there
}

// parseFriends reads the value of --friend: FILE, FILE:TREE or :TREE, several
// separated by commas.
func parseFriends(ctx context.Context, fs storage.FS, text string) []friend {
	var all []friend
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		file, object := splitObject(ctx, fs, part)
		all = append(all, friend{file, object})
	}
	return all
}

// splitObject splits "file.root:dir/Events". Without a colon, or if a file has that name,
// all of it is the file.
func splitObject(ctx context.Context, fs storage.FS, input string) (file, object string) {
	i := strings.LastIndexByte(input, ':')
	if i < storage.PathAt(input) || i < 0 {
		return input, ""
	}
	if _, err := fs.Stat(ctx, input); err == nil {
		return input, ""
	}
	return input[:i], input[i+1:]
}

// path is the friend's file for an input.
func (f *friend) path(input string) string {
	if f.file == "" {
		return input
	}
	base := filepath.Base(input)
	return strings.ReplaceAll(f.file, "{}", strings.TrimSuffix(base, filepath.Ext(base)))
}

// checkFriends refuses one friend file for several inputs: its entries are those of
// one of them at most.
func checkFriends(friends []friend, inputs int) error {
	for _, f := range friends {
		if f.file != "" && inputs > 1 && !strings.Contains(f.file, "{}") {
			return shardify.Mismatch("--friend %s is one file, there are %d inputs; write {} for the name of the input, as in friends/{}.root", f.file, inputs)
		}
	}
	return nil
}
