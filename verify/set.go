package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// set is the check of one data set: a folder, or one split of it.
type set struct {
	o      *Options
	c      *collector
	store  storage.Store
	prefix string // of names in the report: "train/"
	root   *set   // of which this is a split; nil if it is none

	manifest *index.Manifest // nil: there is none, or it cannot be used
	damaged  *Problem        // there is a manifest that is not as it was written
	fixed    []byte          // the manifest as it was, when it could be told
	plan     *convert.Plan   // may be nil
	from     string          // what the schema is taken from
	format   string
	keyed    bool
	schema   []shardify.Field
	layout   *index.Layout  // mmap
	members  []index.Member // wds
	columns  []index.MDSColumn

	shards  []expected
	isShard map[string]bool
	results []result
	other   []otherFile
	first   int64 // number in the whole report of the set's first sample
	bytes   int64 // of all published files

	replay     *replay // of the top set, once it is made
	unreplayed error   // why it could not be
}

// result is what a shard's check leaves for the checks that need them all.
type result struct {
	digest  string // as computed; "" if it was not
	sound   bool   // nothing wrong but, maybe, the digest
	samples int64  // found; -1 unknown
	parts   int64
	offset  int64 // of a digest problem, -1 unknown
	object  string
	what    string
	read    bool
}

// otherFile is a published file that is no shard.
type otherFile struct {
	shardify.File
	from  string
	shard int  // whose it is, -1 the set's
	bad   bool // found damaged or missing
	// digest is the wrong one that it has; "" if that is not what is wrong.
	digest string
}

func (s *set) add(p Problem) {
	if p.Fix == "" && !p.Note && s.isShard[p.File] && p.Level != LevelValues {
		p.Fix = fixRemake
	}
	p.Fix = s.fix(&p)
	p.File = s.prefix + p.File
	for _, side := range []*Side{p.Want, p.Got} {
		if side != nil && (side.From == index.ManifestName || s.root == nil && strings.HasPrefix(side.From, storage.Private+"/")) {
			side.From = s.prefix + side.From
		}
	}
	s.c.add(p)
}

// simple is a problem without a place inside its file.
func simple(level Level, kind, file, what string) Problem {
	return Problem{Level: level, Kind: kind, File: file, Sample: -1, Offset: -1, What: what}
}

func (s *set) addError(level Level, file string, err error) { s.add(problemOf(level, file, err)) }

// run checks the set, cheap levels first.
func (s *set) run(ctx context.Context) error {
	sizes, err := s.list()
	if err != nil {
		return err
	}
	if err := s.load(sizes); err != nil {
		return err
	}
	if s.manifest != nil && len(s.manifest.Splits) > 0 {
		return s.splits(ctx, sizes)
	}
	s.c.count(func(n *Counts) { n.Sets++; n.Shards += int64(len(s.shards)); n.Files += int64(len(s.other)) })
	s.extra(sizes)
	if err := s.checkShards(ctx); err != nil {
		return err
	}
	s.diagnose()
	s.checkOther(ctx)
	if err := s.explain(ctx); err != nil {
		return err
	}
	if s.o.Against {
		return s.against(ctx)
	}
	return nil
}

// list is every published file outside the private folder. Sizes are for telling
// what is there; what counts is the size of the opened file.
func (s *set) list() (map[string]int64, error) {
	sizes := map[string]int64{}
	for f, err := range s.store.List("") {
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(f.Name, storage.Private+"/") {
			sizes[f.Name] = f.Size
			s.bytes += f.Size
		}
	}
	return sizes, nil
}

// harmless are files that people put beside data; no loader takes them for it.
var harmless = []string{"README*", "LICENSE*", "LICENCE*", "COPYING*", "*.md", "SHA256SUMS*", "MD5SUMS*", ".DS_Store", "._*", "Thumbs.db",
	".nfs*", ".gitattributes", ".gitignore", "lost+found"}

// extra reports files that nothing names.
func (s *set) extra(sizes map[string]int64) {
	named := map[string]bool{index.ManifestName: true}
	for i := range s.shards {
		named[s.shards[i].Name] = true
	}
	for _, f := range s.other {
		named[f.Name] = true
	}
	for name := range sizes {
		if named[name] {
			continue
		}
		p := simple(LevelFiles, KindExtra, name, "is not of this data set: "+s.vouchers()+" does not name it")
		base := path.Base(name)
		for _, g := range harmless {
			if ok, _ := path.Match(g, base); ok {
				p.Note = true
			}
		}
		if s.manifest == nil && s.ourSummary(name) {
			p.Note, p.Kind, p.What = true, KindUnacknowledged, "is there before the manifest that vouches for it"
		}
		if !p.Note {
			p.Fix = fixRemove
		}
		s.add(p)
	}
}

// ourSummary tells a file that a conversion writes between its last shard and
// its manifest, or with a shard and before its receipt.
func (s *set) ourSummary(name string) bool {
	if s.plan != nil && s.root == nil {
		for _, split := range s.plan.SplitNames() {
			if rest, ok := strings.CutPrefix(name, split+"/"); ok && (rest == index.ManifestName || summary(rest)) {
				return true
			}
		}
	}
	if summary(name) {
		return true
	}
	stem, ok := strings.CutSuffix(name, ".idx")
	if !ok || s.plan == nil {
		return false
	}
	for i := range s.plan.Outputs() {
		for _, n := range s.planned(i) {
			if stem == n || stem+s.plan.Ext == n {
				return true
			}
		}
	}
	return false
}

// summary tells the names of files for a whole set.
func summary(name string) bool {
	return name == "index.json" || name == convert.InputsName || strings.HasPrefix(name, ".nv-meta/")
}

func (s *set) vouchers() string {
	if s.manifest != nil {
		return s.prefix + index.ManifestName
	}
	return "no receipt or plan"
}

// checkShards checks every shard, several at once.
func (s *set) checkShards(ctx context.Context) error {
	chosen := s.o.Read.choose(s.shards, s.o.Seed)
	s.results = make([]result, len(s.shards))
	for i := range s.shards {
		if chosen[i] || !s.shards[i].vouched {
			s.o.Progress.Total.Add(max(s.shards[i].Bytes, 0))
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.o.Jobs)
	for i := range s.shards {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			e, r := &s.shards[i], &s.results[i]
			*r = result{samples: -1, offset: -1, read: chosen[i] || !e.vouched}
			s.shard(ctx, e, r)
			s.o.Progress.Shards.Add(1)
			return ctx.Err()
		})
	}
	return g.Wait()
}

// shard checks one shard. What is wrong goes into the report or the result.
func (s *set) shard(ctx context.Context, e *expected, r *result) {
	b, err := s.store.Open(e.Name)
	if err != nil {
		s.openError(err, e.Name, e.from, e.Bytes, fixRemake)
		return
	}
	defer b.Close()
	size := b.Size()
	if e.vouched && size != e.Bytes {
		s.add(sizeProblem(e.Name, e.from, e.Bytes, size, fixRemake))
	}
	if !e.vouched {
		e.Bytes = size
	}
	buf := bufferPool.Get().(*buffers)
	defer bufferPool.Put(buf)
	w := &watched{ctx, b, &s.o.Progress.Bytes}
	switch {
	case s.layout != nil:
		s.mmapShard(w, size, e, r, buf)
	case s.members != nil:
		s.wdsShard(w, size, e, r, buf)
	case s.columns != nil:
		s.mdsShard(w, size, e, r, buf)
	case s.format == "megatron":
		s.binShard(w, size, e, r, buf)
	}
	s.c.count(func(n *Counts) {
		n.Samples += max(r.samples, 0)
		n.Parts += r.parts
		n.Bytes += size
		if r.read {
			n.ShardsRead++
			n.BytesRead += size
		}
	})
}

func (s *set) openError(err error, name, from string, size int64, fix string) {
	if !errors.Is(err, fs.ErrNotExist) {
		s.addError(LevelFiles, name, err)
		return
	}
	p := simple(LevelFiles, KindMissing, name, "is missing")
	p.Want, p.Fix = &Side{from, fmt.Sprintf("%d bytes", size)}, fix
	s.add(p)
}

func sizeProblem(name, from string, want, got int64, fix string) Problem {
	p := simple(LevelFiles, KindSize, name, "is truncated")
	if got > want {
		p.What = "is longer than it was"
	}
	p.Offset = min(want, got)
	p.Want, p.Got = &Side{from, fmt.Sprintf("%d bytes", want)}, &Side{"the file", fmt.Sprintf("%d bytes", got)}
	p.Fix = fix
	return p
}

// digestProblem is a digest that is not as recorded.
func digestProblem(level Level, name, from, want, got string) Problem {
	p := simple(level, KindDigest, name, "digest")
	p.Want, p.Got = &Side{from, want}, &Side{"the file", got}
	return p
}
