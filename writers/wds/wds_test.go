package wds_test

import (
	"testing"

	"github.com/shardify/shardify/index"
	reader "github.com/shardify/shardify/readers/wds"
	"github.com/shardify/shardify/writers/wds"
	"github.com/shardify/shardify/writers/writertest"
)

// members completes a manifest as the merge does.
func members(m *index.Manifest) { m.Members, _ = index.MemberNames(m.Schema) }

func TestContract(t *testing.T) {
	writertest.Run(t, wds.Format, writertest.OpenWith(reader.Format, members))
}
