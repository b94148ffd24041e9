package convert

import (
	"iter"
	"strings"

	"github.com/shardify/shardify"
)

// SplitNames are the splits in the order of their numbers; nil without.
func (p *Plan) SplitNames() []string {
	if p.Split == nil {
		return nil
	}
	var out []string
	for _, s := range p.Split.Parts {
		out = append(out, s.Name)
	}
	return out
}

// SplitShardName is the path of shard i of a split below the data set's folder.
func (p *Plan) SplitShardName(split, i int) string {
	if p.Split == nil {
		return p.ShardName(i)
	}
	return p.Split.Parts[split].Name + "/" + p.ShardName(i)
}

// read is the schema of the source.
func (p *Plan) read() []shardify.Field {
	if p.Source != nil {
		return p.Source
	}
	return p.Schema
}

// below is a folder of a store as a store of its own.
type below struct {
	shardify.Store
	dir string // ends with a slash
}

func (s below) Open(name string) (shardify.Blob, error) { return s.Store.Open(s.dir + name) }

func (s below) Create(name string) (shardify.Pending, error) { return s.Store.Create(s.dir + name) }

func (s below) Remove(name string) error { return s.Store.Remove(s.dir + name) }

func (s below) List(dir string) iter.Seq2[shardify.FileInfo, error] {
	return func(yield func(shardify.FileInfo, error) bool) {
		for f, err := range s.Store.List(strings.TrimSuffix(s.dir+dir, "/")) {
			if err == nil {
				f.Name = f.Name[len(s.dir):]
			}
			if !yield(f, err) {
				return
			}
		}
	}
}
