package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage/cache"
	"github.com/shardify/shardify/storage/storages"
	"github.com/spf13/cobra"
)

func cacheCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "cache status|clear [DIR]",
		Short: "show or empty the cache of data from other machines",
		Long: `The cache keeps what was read from web servers, XRootD and object stores in a folder of this machine: --cache DIR of the commands that
read, or $SHARDIFY_CACHE, which is DIR if left out. status shows what it has. clear removes that; processes that use it fetch again what
they need. Neither touches files that the cache has not made.`,
		Example: `shardify cache status /scratch/cache
shardify cache clear /scratch/cache`,
		ValidArgs: []string{"status", "clear"},
	}
	c.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) > 2 || args[0] != "status" && args[0] != "clear" {
			return shardify.Hint(shardify.Usage("want status or clear, and perhaps a folder"), "for example: shardify cache status")
		}
		dir := cmp.Or(append(args[1:], os.Getenv(storages.CacheVariable))...)
		if dir == "" {
			return shardify.Usage("no folder, and %s is not set", storages.CacheVariable)
		}
		do, said := cache.Look, "in the cache"
		if args[0] == "clear" {
			do, said = cache.Clear, "removed"
		}
		u, err := do(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return shardify.Hint(err, "the commands that read make a cache with --cache "+printable.Quote(dir))
		}
		if err != nil {
			return err
		}
		p.Object("cache", u)
		p.Result("%s: %s, %s of %s", said, shardify.FormatSize(u.Bytes), printable.Of(int64(u.Blocks), "block"), printable.Of(int64(u.Contents), "file"))
		if u.Oldest > 0 && args[0] == "status" {
			p.Result("least recently used: %s", time.Unix(u.Oldest, 0).Format(time.RFC3339))
		}
		return nil
	}
	return c
}
