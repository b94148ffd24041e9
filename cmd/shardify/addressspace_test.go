package main

import (
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestLimitedAddressSpace(t *testing.T) {
	if err := addressSpace(0, false); err != nil {
		t.Error(err)
	}
	if err := addressSpace(leastSpace, true); err != nil {
		t.Error(err)
	}
	err := addressSpace(33<<20, true)
	if err == nil || !strings.Contains(err.Error(), "(ulimit -v), and 33 MiB are left") || len(shardify.Hints(err)) != 1 {
		t.Error(err)
	}
}
