package cache

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// Usage is what a cache has on its disk.
type Usage struct {
	Folder   string `json:"folder"`   // that the cache made
	Bytes    int64  `json:"bytes"`    // of blocks
	Blocks   int    `json:"blocks"`   // fetched ranges
	Contents int    `json:"contents"` // files that they are of
	Writing  int    `json:"writing"`  // files being written
	Foreign  int    `json:"foreign"`  // what the cache did not make
	Oldest   int64  `json:"oldest"`   // when the least recently used block was read, seconds since 1970; 0 without blocks

	accounted int64
}

// found is a block on the disk.
type found struct {
	name string
	cost int64
	used int64
}

// Look reports what the cache below dir has. Without one its error is fs.ErrNotExist.
func Look(dir string) (Usage, error) {
	c, err := at(dir)
	if err != nil {
		return Usage{}, err
	}
	defer c.Close()
	u, _, err := c.scan()
	return u, err
}

// Clear removes all blocks below dir, and returns what there was. Processes that use them go
// on.
func Clear(dir string) (Usage, error) {
	if _, err := at(dir); err != nil {
		return Usage{}, err
	}
	c, err := open(dir, LeastSize)
	if err != nil {
		return Usage{}, err
	}
	defer c.Close()
	if !c.enter() {
		return Usage{}, &fs.PathError{Op: "clear", Path: c.root.Name(), Err: errors.New("another process makes room: try again")}
	}
	defer unlock(c.lock)
	u, blocks, err := c.scan()
	if err != nil {
		return u, err
	}
	for _, b := range blocks {
		if err := c.root.Remove(b.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return u, err
		}
	}
	left, _, err := c.scan()
	return u, errors.Join(err, c.setTotal(left.accounted))
}

// scan looks at all files, and removes what dead processes left. The caller holds the lock, or
// wants to look alone.
func (c *Cache) scan() (u Usage, blocks []found, err error) {
	u.Folder = c.root.Name()
	own := c.lock != nil // and the lock is held
	err = c.each(".", func(info fs.FileInfo) {
		switch info.Name() {
		case "lock", "blocks", "tmp", "claims":
		default:
			u.Foreign++
		}
	})
	if err != nil {
		return u, nil, err
	}
	err = c.each("tmp", func(info fs.FileInfo) {
		name := "tmp/" + info.Name()
		switch {
		case !info.Mode().IsRegular() || len(info.Name()) != 26:
			u.Foreign++
		case own && c.dead(name):
			_ = c.root.Remove(name)
		default:
			u.Writing++
			u.accounted += cost(info.Size())
		}
	})
	if err != nil {
		return u, nil, err
	}
	if own {
		err = c.each("claims", func(info fs.FileInfo) {
			if name := "claims/" + info.Name(); info.Mode().IsRegular() && len(info.Name()) >= 32 && time.Since(info.ModTime()) > staleTime && c.dead(name) {
				_ = c.root.Remove(name)
			}
		})
		if err != nil {
			return u, nil, err
		}
	}
	var folders []string
	err = c.each("blocks", func(info fs.FileInfo) {
		if info.IsDir() && len(info.Name()) == 32 {
			folders = append(folders, "blocks/"+info.Name())
		} else {
			u.Foreign++
		}
	})
	if err != nil {
		return u, nil, err
	}
	for _, d := range folders {
		before := len(blocks)
		err := c.each(d, func(info fs.FileInfo) {
			if _, ok := parseBlock(info.Name()); !ok || !info.Mode().IsRegular() {
				u.Foreign++
				return
			}
			b := found{path.Join(d, info.Name()), cost(info.Size()), info.ModTime().UnixNano()}
			u.Bytes += info.Size()
			u.accounted += b.cost
			if s := b.used / 1e9; u.Oldest == 0 || s < u.Oldest {
				u.Oldest = s
			}
			blocks = append(blocks, b)
		})
		if err != nil {
			return u, nil, err
		}
		if len(blocks) == before {
			if own && c.root.Remove(d) == nil { // only an empty folder goes
				continue
			}
		} else {
			u.Contents++
		}
		u.accounted += page
	}
	u.Blocks = len(blocks)
	return u, blocks, nil
}

// each calls do for what is in a folder. What goes away meanwhile is left out.
func (c *Cache) each(dir string, do func(fs.FileInfo)) error {
	d, err := c.root.OpenFile(dir, os.O_RDONLY|openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		list, err := d.ReadDir(1024)
		for _, e := range list {
			if info, err := c.root.Lstat(path.Join(dir, e.Name())); err == nil {
				do(info)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// dead reports whether a file that is locked while it is in use is not.
func (c *Cache) dead(name string) bool {
	f, err := c.root.OpenFile(name, os.O_RDWR|openFlags, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if !tryLock(f) {
		return false
	}
	_, taken := tryRange(f, 0, 0)
	return !taken
}
