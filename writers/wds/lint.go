package wds

import (
	"context"
	"encoding/binary"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/verify/problem"
)

// linter checks tars by the rules of package index.
var linter = format.Linter{
	Sniff: func(head []byte) bool { return len(head) >= 265 && string(head[257:262]) == "ustar" },
	Check: lint,
}

func lint(ctx context.Context, c *format.ShardCheck) (ours bool, err error) {
	counts, err := tar.Lint(ctx, c.File, c.Size, func(t tar.Problem) bool {
		p := problem.New(problem.LevelLint, problem.KindLoader, "", string(t.Rule))
		if t.Detail != "" {
			p.What += " (" + t.Detail + ")"
		}
		if t.Rule.Damage() {
			p.Kind = problem.KindFormat
		}
		p.Object, p.Offset, p.Breaks = t.Member, t.Offset, t.Rule.Breaks()
		c.Report(p)
		return true
	})
	c.Samples, c.Parts = counts.Samples, counts.Members
	return indexed(c), err
}

// indexed reports whether a tar has an offset index of ours beside it.
func indexed(c *format.ShardCheck) bool {
	f, err := c.Store.Open(c.Shard.Name + tar.IndexExt)
	if err != nil {
		return false
	}
	defer f.Close()
	n := f.Size()
	if n < 16 || n%8 != 0 {
		return false
	}
	var first, last [8]byte
	_, err = f.ReadAt(first[:], 0)
	_, err2 := f.ReadAt(last[:], n-8)
	return err == nil && err2 == nil && first == [8]byte{} && binary.LittleEndian.Uint64(last[:]) == uint64(c.Size-tar.End)
}
