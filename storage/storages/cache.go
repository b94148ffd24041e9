package storages

import (
	"fmt"
	"os"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/cache"
	"github.com/shardify/shardify/storage/remote"
)

// Names of the environment that set up a cache.
const (
	CacheVariable     = "SHARDIFY_CACHE"
	CacheSizeVariable = "SHARDIFY_CACHE_SIZE"
)

var (
	cacheMu   sync.Mutex
	cacheIs   *cache.Cache
	cacheErr  error
	cacheUsed bool // the environment has been looked at, or UseCache called
)

func init() { remote.Disk = disk }

// UseCache keeps what is read from other machines in a folder of this one, of at most so many
// bytes: all files that are opened from then on. 0 is the size of the environment, else
// cache.DefaultSize.
func UseCache(dir string, size int64) error {
	cacheMu.Lock()
	defer cacheMu.Unlock()
	if text := os.Getenv(CacheSizeVariable); size == 0 && text != "" {
		var err error
		if size, err = shardify.ParseSize(text); err != nil {
			return fmt.Errorf("%s: %w", CacheSizeVariable, err)
		}
	}
	c, err := cache.Open(dir, size)
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	cacheIs, cacheErr, cacheUsed = c, nil, true
	return nil
}

// disk is the cache that was named, or that of the environment.
func disk() *cache.Cache {
	cacheMu.Lock()
	dir, first := os.Getenv(CacheVariable), !cacheUsed
	cacheUsed = true
	cacheMu.Unlock()
	if first && dir != "" {
		if err := UseCache(dir, 0); err != nil { // a read does not fail for it
			cacheMu.Lock()
			cacheErr = err
			cacheMu.Unlock()
		}
	}
	cacheMu.Lock()
	defer cacheMu.Unlock()
	return cacheIs
}

// CacheFailed returns why the cache is not used, or was not for a while; nil if all is well.
func CacheFailed() error {
	cacheMu.Lock()
	defer cacheMu.Unlock()
	if cacheErr == nil && cacheIs != nil {
		if err := cacheIs.Failed(); err != nil {
			return fmt.Errorf("cache: %w", err)
		}
	}
	return cacheErr
}
