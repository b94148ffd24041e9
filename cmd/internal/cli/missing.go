package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/suggest"
)

// missing is the advice where a path of the command line does not exist: the command with the
// name beside it that is most like it, or one that lists the folder.
func (o *IO) missing(err error) []string {
	if !errors.Is(err, fs.ErrNotExist) || len(o.Args) < 2 {
		return nil
	}
	var names []string // of the error
	if e, ok := errors.AsType[*shardify.Error](err); ok {
		names = append(names, e.File)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		names = append(names, e.Path)
	}
	for i, a := range o.Args[1:] {
		if !slices.ContainsFunc(names, func(n string) bool {
			return n != "" && (n == a || strings.TrimSuffix(n, "/"+index.ManifestName) == filepath.Clean(a))
		}) {
			continue
		}
		folder := filepath.Dir(filepath.Clean(a))
		list, err := os.ReadDir(folder)
		if err != nil {
			return nil // it is in a folder that does not exist
		}
		var there []string
		for _, e := range list {
			there = append(there, e.Name())
		}
		if slices.Contains(there, filepath.Base(a)) {
			return nil // it exists, and is not what is wanted
		}
		if m := suggest.Word(filepath.Base(a), there); m != "" {
			args := slices.Clone(o.Args)
			args[i+1] = filepath.Join(folder, m)
			return []string{"did you mean: " + CommandLine(args)}
		}
		return []string{"what is there: ls " + printable.Quote(folder)}
	}
	return nil
}
