package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/verify/problem"
)

// splits checks a root manifest and every split, which is a data set of its own.
func (s *set) splits(ctx context.Context, sizes map[string]int64) error {
	s.c.count(func(n *Counts) { n.Files += int64(len(s.other)) })
	for name := range sizes {
		if first, _, ok := strings.Cut(name, "/"); ok {
			if _, ok := s.manifest.Splits[first]; ok {
				delete(sizes, name) // that set will look
			}
		}
	}
	s.extra(sizes)
	s.checkOther(ctx)
	if err := s.explain(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.manifest.Splits)) {
		if err := s.split(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *set) split(ctx context.Context, name string) error {
	want := s.manifest.Splits[name]
	t := &set{o: s.o, c: s.c, store: storage.Below(s.store, name), prefix: s.prefix + name + "/", root: s}
	if err := t.run(ctx); err != nil {
		return err
	}
	m := t.manifest
	if m == nil {
		return nil // reported
	}
	compare := func(what, in, have string) {
		if in == have {
			return
		}
		p := problem.New(problem.LevelManifest, problem.KindMismatch, index.ManifestName, what)
		p.Want, p.Got = problem.Says(s.prefix+index.ManifestName+" of all splits", in), problem.Says(t.prefix+index.ManifestName, have)
		t.add(p)
	}
	compare("xxh3", want.Digest, m.Digest)
	compare("samples", fmt.Sprint(want.Samples), fmt.Sprint(m.Samples))
	compare("shards", fmt.Sprint(want.Shards), fmt.Sprint(len(m.Shards)))
	if len(m.Splits) > 0 {
		t.add(problem.New(problem.LevelManifest, problem.KindFormat, index.ManifestName, "splits inside a split"))
	}
	return nil
}
