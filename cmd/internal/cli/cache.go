package cli

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/storage/storages"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AddCache adds the flags of the cache to a command that reads.
func AddCache(o *IO, c *cobra.Command) {
	var dir string
	var size value.Size
	add := func(fs *pflag.FlagSet) {
		fs.StringVar(&dir, "cache", "", "keep what is read from other machines in `DIR`, for all processes of this node; $SHARDIFY_CACHE if left out, else nothing is kept")
		fs.Var(&size, "cache-size", "bytes that it may take; $SHARDIFY_CACHE_SIZE if left out, else 64 GiB")
	}
	if c.Flags().Lookup("jobs") == nil || c.Flags().Lookup("jobs").Annotations[Group] != nil {
		Grouped(c.Flags(), settings.GroupRunning, add)
	} else {
		add(c.Flags())
	}
	c.Flags().Lookup("cache-size").DefValue = ""
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case dir != "":
			if err := storages.UseCache(dir, int64(size)); err != nil {
				return shardify.Usage("--cache: %v", err)
			}
		case size != 0:
			return shardify.Usage("--cache-size without --cache: set SHARDIFY_CACHE_SIZE for the cache of SHARDIFY_CACHE")
		}
		err := run(c, args)
		if e := storages.CacheFailed(); e != nil {
			o.Note("some bytes were not kept: %v", e)
		}
		return err
	}
}
