package parquet_test

import (
	"testing"

	"github.com/shardify/shardify/writers/parquet"
	"github.com/shardify/shardify/writers/writertest"
)

func TestContract(t *testing.T) { writertest.Run(t, parquet.Format, nil) }
