package mmap_test

import (
	"testing"

	"github.com/shardify/shardify/writers/mmap"
	"github.com/shardify/shardify/writers/writertest"
)

func TestContract(t *testing.T) {
	writertest.Run(t, mmap.Format, nil)
}
