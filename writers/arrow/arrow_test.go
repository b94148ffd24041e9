package arrow_test

import (
	"testing"

	"github.com/shardify/shardify/writers/arrow"
	"github.com/shardify/shardify/writers/writertest"
)

func TestContract(t *testing.T) { writertest.Run(t, arrow.Format, nil) }
