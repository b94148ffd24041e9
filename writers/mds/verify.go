package mds

import (
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/verify/problem"
)

// verify checks the head of a shard against the schema, and the sizes in every sample.
func verify(schema []shardify.Field, keyed bool, _ map[string]string) (format.Verifier, error) {
	columns, err := columnTypes(schema, keyed)
	if err != nil {
		return format.Verifier{}, err
	}
	config := configText(columns)
	return format.Verifier{Shard: func(c *format.ShardCheck) {
		if !strings.HasSuffix(c.Shard.Name, zipExt) {
			rows(c, columns, config)
			return
		}
		// It is unpacked only if its digest is right: what a damaged one claims to hold could
		// fill the memory.
		if c.Samples = c.Shard.Samples; !c.Full || !c.Intact() {
			return
		}
		u, err := openUnzipped(c.File, c.Size)
		if err != nil {
			c.Fail(problem.LevelStructure, err)
			return
		}
		defer u.Close()
		c.File, c.Size = u, u.Size()
		rows(c, columns, config)
	}}, nil
}

func rows(c *format.ShardCheck, columns []columnType, config []byte) {
	ends, err := parseHead(c.File, c.Size, config)
	if err != nil {
		c.Fail(problem.LevelStructure, err)
		return
	}
	c.Count(int64(len(ends)-1), "its head")
	if !c.Full {
		return
	}
	if i, err := checkSamples(c.File, ends, columns, c.Buf[:rowsBytes]); err != nil {
		p := problem.Of(problem.LevelStructure, "", err)
		p.Sample = i
		c.Report(p)
	}
	c.Parts = c.Samples
}

// rowsBytes is how much is read at once of samples of which only parts are looked at.
const rowsBytes = 256 << 10
