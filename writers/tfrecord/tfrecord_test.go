package tfrecord_test

import (
	"testing"

	"github.com/shardify/shardify/writers/tfrecord"
	"github.com/shardify/shardify/writers/writertest"
)

func TestContract(t *testing.T) { writertest.Run(t, tfrecord.Format, nil) }

func TestContractOfArrayRecord(t *testing.T) { writertest.Run(t, tfrecord.ArrayRecord, nil) }
