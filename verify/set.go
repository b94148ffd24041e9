package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/minisign"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/verify/problem"
	"golang.org/x/sync/errgroup"
)

// set is the check of one data set: a folder, or one split of it.
type set struct {
	o      *Options
	c      *collector
	store  storage.Store
	prefix string // of names in the report: "train/"
	signed []byte // the manifest whose signature or id was checked; nil if that was not asked for
	root   *set   // of which this is a split; nil if it is not one

	manifest *index.Manifest  // nil: it does not exist, or cannot be used
	damaged  *problem.Problem // there is a manifest that is not as it was written
	fixed    []byte           // the manifest as it was, if that could be determined
	plan     *plan.Plan       // may be nil
	from     string           // what the schema is taken from
	format   string
	keyed    bool
	schema   []shardify.Field
	sink     *format.Output // of format; nil if this program lacks it
	verifier format.Verifier

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

// otherFile is a published file that is not a shard.
type otherFile struct {
	shardify.File
	from  string
	shard int  // whose it is, -1 the set's
	bad   bool // found damaged or missing
	// digest is the file's wrong digest; "" if the digest is not what is wrong.
	digest string
}

func (s *set) add(p problem.Problem) {
	if p.Fix == "" && !p.Note && s.isShard[p.File] && p.Level != problem.LevelValues {
		p.Fix = fixRemake
	}
	p.Fix = s.fix(&p)
	p.File = s.prefix + p.File
	for _, side := range []*problem.Side{p.Want, p.Got} {
		if side != nil && (side.From == index.ManifestName || s.root == nil && strings.HasPrefix(side.From, storage.Private+"/")) {
			side.From = s.prefix + side.From
		}
	}
	s.c.add(p)
}

func (s *set) addError(level problem.Level, file string, err error) {
	s.add(problem.Of(level, file, err))
}

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
	s.checkQuestions()
	if err := s.explain(ctx); err != nil {
		return err
	}
	if s.o.Against {
		return s.against(ctx)
	}
	return nil
}

// list is every published file outside the private folder. These sizes only show what exists;
// checks use the size of the opened file.
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

// harmless are files that people put beside data; no loader takes them for data.
var harmless = []string{"README*", "croissant.json", "LICENSE*", "LICENCE*", "COPYING*", "*.md", "SHA256SUMS*", "MD5SUMS*", "*.minisig", "*.sig", "*.asc", ".DS_Store", "._*", "Thumbs.db",
	".nfs*", ".gitattributes", ".gitignore", "lost+found"}

// extra reports files that nothing names.
func (s *set) extra(sizes map[string]int64) {
	named := map[string]bool{index.ManifestName: true, index.ManifestName + minisign.Suffix: true}
	for i := range s.shards {
		named[s.shards[i].Name] = true
	}
	for _, f := range s.other {
		named[f.Name] = true
	}
	older, unknown := s.older()
	for name := range sizes {
		if named[name] || older[name] {
			continue
		}
		p := problem.New(problem.LevelFiles, problem.KindExtra, name, "is not of this data set: "+s.vouchers()+" does not name it")
		base := path.Base(name)
		for _, g := range harmless {
			if ok, _ := path.Match(g, base); ok {
				p.Note = true
			}
		}
		if unknown && strings.HasPrefix(base, "shard-") {
			p.Note, p.What = true, "is of an older version of the set, or not of it"
		}
		if s.manifest == nil && s.ourSummary(name) {
			p.Note, p.Kind, p.What = true, problem.KindUnacknowledged, "is there before the manifest that vouches for it"
		}
		if s.manifest == nil && changed(s.top().store) {
			p.Note, p.What = true, "may be of the version that "+index.ManifestName+" would name"
		}
		if p.Note {
		} else if p.Fix = fixRemove; s.manifest != nil && s.top().manifest != nil && rewritten().MatchString(base) {
			p.Fix, p.What = fixCollect, "is of a change of the set that was stopped: no version names it"
		}
		s.add(p)
	}
}

// ourSummary reports whether a conversion writes a file of this name between its last shard and its
// manifest, or with a shard and before its receipt.
func (s *set) ourSummary(name string) bool {
	if s.plan != nil && s.root == nil {
		for _, split := range s.plan.Splits.Names() {
			if rest, ok := strings.CutPrefix(name, split+"/"); ok {
				return rest == index.ManifestName || s.belongs(rest)
			}
		}
	}
	return s.belongs(name)
}

// belongs reports whether a name is that of a file for a whole set or of one beside a shard: of its
// format, or of any format while the set's is unknown.
func (s *set) belongs(name string) bool {
	return name == index.InputsName || name == index.StaticName || slices.ContainsFunc(s.o.Sinks, func(f format.Output) bool {
		return f.Owns != nil && (s.format == "" || s.format == f.Name) && f.Owns(name)
	})
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

// shard checks one shard. Problems go into the report or the result.
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
	s.arrived(ctx, b, size, e, r)
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

// arrived checks the content of a shard. Bytes that may have been damaged on their way from another
// machine are fetched again before anything is reported.
func (s *set) arrived(ctx context.Context, b storage.Blob, size int64, e *expected, r *result) {
	if s.verifier.Shard == nil {
		return
	}
	_, kept := storage.As[storage.Forgetter](b)
	for k := 0; ; k++ {
		var found []problem.Problem
		report, last := s.add, !kept || k == dataset.Refetches
		if !last {
			report = func(p problem.Problem) { found = append(found, p) }
		}
		x, w := *r, &watched{ctx: ctx, r: b, read: &s.o.Progress.Bytes}
		s.content(ctx, w, size, e, &x, report, last)
		damaged := len(found) > 0 || e.vouched && x.digest != "" && x.digest != e.Digest
		if !last && damaged && ctx.Err() == nil && dataset.Again(b, shardify.ErrCorrupt) {
			s.o.Progress.Bytes.Add(-w.own.Load())
			for _, f := range e.Files { // the check reads them, too
				if b, err := s.store.Open(f.Name); err == nil {
					dataset.Again(b, shardify.ErrCorrupt)
					b.Close()
				}
			}
			continue
		}
		for _, p := range found {
			s.add(p)
		}
		*r = x
		return
	}
}

// content has the format check the content of a shard, and digests the bytes that this reads on its
// way. flips: it looks for flipped bits.
func (s *set) content(ctx context.Context, file io.ReaderAt, size int64, e *expected, r *result, add func(problem.Problem), flips bool) {
	buf := bufferPool.Get().(*buffers)
	defer bufferPool.Put(buf)
	problems := 0
	report := func(p problem.Problem) {
		problems++
		add(p)
	}
	c := format.ShardCheck{
		Shard: e.Shard, From: e.from, Schema: s.from, File: file, Size: size, Store: s.store,
		Buf: buf.format, Full: r.read, Samples: -1,
		Report: func(p problem.Problem) { report(e.placed(p)) },
	}
	d := &digesting{r: file, size: size, buf: buf.digest, digest: new(index.PieceDigest)}
	digest := func() (err error) {
		if r.digest == "" {
			r.digest, err = d.rest()
		}
		return err
	}
	c.Intact = func() bool { return digest() == nil && r.digest == e.Digest }
	switch {
	case s.verifier.Head > 0:
		if head := s.head(c.File, e, r, report, flips); head != nil { // as it was before a bit flipped
			c.File = &overlaid{head, c.File}
		}
	case r.read:
		c.File = d
	}
	s.verifier.Shard(&c)
	r.samples, r.parts = c.Samples, c.Parts
	r.sound = problems == 0
	if s.verifier.Head > 0 || !r.read {
		return
	}
	if err := digest(); err != nil {
		report(problem.Of(problem.LevelChecksum, e.Name, err))
	} else if flips && e.vouched && r.digest != e.Digest && size == e.Bytes {
		s.fileFlip(file, size, e, r)
	}
}

// placed is a problem of the format's check, with its place in the set.
func (e *expected) placed(p problem.Problem) problem.Problem {
	if p.File == "" {
		p.File = e.Name
	}
	p.Sample = e.sample(p.Sample)
	return p
}

// head digests the beginning of a shard that its digest covers, and returns it if a flipped bit
// could be repaired.
func (s *set) head(r io.ReaderAt, e *expected, out *result, report func(problem.Problem), flips bool) (mended []byte) {
	if !e.vouched {
		return nil
	}
	head := make([]byte, s.verifier.Head)
	n, err := r.ReadAt(head, 0)
	if n < len(head) && err != nil && err != io.EOF {
		report(problem.Of(problem.LevelStructure, e.Name, &shardify.Error{Op: "read", Sample: -1, Offset: int64(n), Err: err}))
		return nil
	}
	head = head[:n]
	out.digest, out.object = index.DigestOf(head), "header"
	if out.digest == e.Digest || int64(n) < s.verifier.Head || !flips {
		return nil
	}
	at, mask, ok := flipDigest(head, &s.c.flips, e.Digest)
	if !ok {
		return nil
	}
	out.offset, out.what = int64(at), flipText(head[at], mask)
	head[at] ^= mask
	return head
}

// fileFlip looks for the flipped bit of a small shard whose digest is that of the file.
func (s *set) fileFlip(r io.ReaderAt, size int64, e *expected, out *result) {
	if size > maxFlip {
		return
	}
	b := make([]byte, size)
	if n, _ := r.ReadAt(b, 0); int64(n) < size {
		return
	}
	if at, mask, ok := flipDigest(b, &s.c.flips, e.Digest); ok {
		out.offset, out.what = int64(at), flipText(b[at], mask)
	}
}

func (s *set) openError(err error, name, from string, size int64, fix string) {
	if !errors.Is(err, fs.ErrNotExist) {
		s.addError(problem.LevelFiles, name, err)
		return
	}
	p := problem.New(problem.LevelFiles, problem.KindMissing, name, "is missing")
	p.Want, p.Fix = problem.Says(from, fmt.Sprintf("%d bytes", size)), fix
	s.add(p)
}

func sizeProblem(name, from string, want, got int64, fix string) problem.Problem {
	p := problem.New(problem.LevelFiles, problem.KindSize, name, "is truncated")
	if got > want {
		p.What = "is longer than it was"
	}
	p.Offset = min(want, got)
	p.Want, p.Got = problem.Says(from, fmt.Sprintf("%d bytes", want)), problem.Says("the file", fmt.Sprintf("%d bytes", got))
	p.Fix = fix
	return p
}

// digestProblem is a digest that is not as recorded.
func digestProblem(level problem.Level, name, from, want, got string) problem.Problem {
	p := problem.New(level, problem.KindDigest, name, "digest")
	p.Want, p.Got = problem.Says(from, want), problem.Says("the file", got)
	return p
}
