package wds

import (
	"context"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index/tar"
)

// Keyed is what the manifest says. Batches of a single set of rows carry Keys
// all the same: a sink that must write names keeps those of the tar, so that
// sharding again renames nothing. Of several sets the names of rows may be equal
// and are rebuilt.
func (s *source) Keyed() bool { return s.survey.Keyed }

func (s *source) hasKeys() bool { return s.survey.Keyed || len(s.Inputs) == 1 }

// CheckKeys reads the names of all samples if their members' names get longer, or if
// memberMax is negative: then only the rule counts. Otherwise the tars prove that they
// fit.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	if memberMax >= 0 && memberMax <= s.tar.LongestName() || !s.survey.Keyed {
		return nil
	}
	names := dataset.KeyCheck{MemberMax: memberMax, Rule: check}
	for i := range s.Inputs {
		for j := range s.Inputs[i] {
			if err := s.eachKey(i, j, names.Add); err != nil {
				return err
			}
		}
	}
	return names.Err()
}

// eachKey reads the first header of every sample of a shard.
func (s *source) eachKey(input, j int, f func(key []byte)) error {
	r := &reader{src: s, input: -1}
	defer r.Close()
	if err := r.open(context.Background(), input, j); err != nil {
		return err
	}
	if err := r.beginShard(); err != nil {
		return r.locate(err)
	}
	const step = 8 << 10
	entries := make([]int64, step)
	for at := int64(0); at < r.shard.Samples; at += step {
		offsets := entries[:min(step, r.shard.Samples-at)]
		if err := r.idx.Entries(offsets, make([]byte, len(offsets)*8), at); err != nil {
			return err
		}
		for _, o := range offsets {
			b, err := r.walk.Bytes(o, tar.Block)
			if err != nil {
				return r.locate(err)
			}
			h, err := tar.ParseHeader(b)
			if err != nil {
				return r.locate(err)
			}
			key, _, _ := tar.SplitKey(h.Name)
			f(key)
		}
	}
	return nil
}
