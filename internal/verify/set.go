package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/store"
	"golang.org/x/sync/errgroup"
)

// maxText bounds manifests, receipts and other texts that are read whole.
const maxText = 1 << 30

// set is the check of one data set: a folder, or one split of it.
type set struct {
	o      *Options
	c      *collector
	store  shardify.Store
	prefix string // of names in the report: "train/"

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

	shards  []expected
	isShard map[string]bool
	results []result
	other   []otherFile
	first   int64 // number in the whole report of the set's first sample
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
}

func (s *set) add(p Problem) {
	if p.Fix == "" && !p.Note && s.isShard[p.File] && p.Level != LevelValues {
		p.Fix = fixRemake
	}
	p.Fix = s.fix(&p)
	p.File = s.prefix + p.File
	for _, side := range []*Side{p.Want, p.Got} {
		if side != nil && (side.From == index.ManifestName || strings.HasPrefix(side.From, store.Private+"/")) {
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
		if !strings.HasPrefix(f.Name, store.Private+"/") {
			sizes[f.Name] = f.Size
		}
	}
	return sizes, nil
}

// load finds out what should be there: from the manifest, else from receipts.
func (s *set) load(sizes map[string]int64) error {
	b, err := s.text(index.ManifestName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		p := problemOf(LevelManifest, index.ManifestName, err)
		s.damaged = &p
	default:
		s.decode(b)
	}
	if s.manifest != nil {
		s.fromManifest()
		return s.prepare()
	}
	if err := s.loadPlan(); err != nil {
		return err
	}
	found, err := s.fromReceipts(sizes)
	if err != nil {
		return err
	}
	if !found && s.damaged == nil && s.prefix == "" && !s.begun() {
		return fmt.Errorf("no %s and no plan: %w", index.ManifestName, ErrNotDataSet)
	}
	if s.prefix == "" {
		s.c.report.State = StateUnfinished
	}
	if s.damaged == nil {
		p := simple(LevelManifest, KindUnfinished, index.ManifestName, "is not there: the conversion is not finished")
		p.Note = s.prefix == ""
		s.add(p)
	}
	return s.prepare()
}

// begun tells a folder that is empty, or in which a conversion has left nothing
// but its private folder: what a crash may leave right after the start.
func (s *set) begun() bool {
	if s.o.Dir == "" {
		return false
	}
	st, err := os.Stat(filepath.Join(s.o.Dir, store.Private))
	return err == nil && st.IsDir() || isEmpty(s.o.Dir)
}

func isEmpty(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.ReadDir(1)
	return err == io.EOF
}

// decode takes the manifest, with the one flipped bit undone if that is what is
// wrong with it.
func (s *set) decode(b []byte) {
	m, err := index.DecodeManifest(b)
	if err == nil {
		s.manifest = m
		return
	}
	p := problemOf(LevelManifest, index.ManifestName, err)
	s.damaged = &p
	if errors.Is(err, shardify.ErrUnsupported) {
		return // of a later version, maybe: nothing to repair
	}
	p.Fix = fixRepair
	if errors.Is(err, shardify.ErrCorrupt) {
		if at, mask, ok := findFlip(b, &s.c.flips, func() bool { return manifestDigestOK(b) }); ok {
			b[at] ^= mask
			if s.manifest, err = index.DecodeManifest(b); err == nil {
				p.Offset, s.fixed = int64(at), b
				p.What = fmt.Sprintf("a bit is flipped: the byte is %#02x and was %#02x", b[at]^mask, b[at])
			}
		}
	}
}

// manifestDigestOK checks the digest alone, without parsing.
func manifestDigestOK(b []byte) bool {
	const digits, tail = 32, len("\"\n}\n")
	at := len(b) - tail - digits
	if at < 0 {
		return false
	}
	c := append([]byte(nil), b...)
	copy(c[at:], strings.Repeat("0", digits))
	return index.DigestOf(c) == index.DigestPrefix+string(b[at:at+digits])
}

func (s *set) fromManifest() {
	m := s.manifest
	s.from, s.format, s.keyed, s.schema = index.ManifestName, m.Format, m.Keyed, m.Schema
	if s.prefix == "" {
		s.c.report.State = StateComplete
	}
	if m.Format != "" {
		s.c.report.Format = m.Format
	}
	at := s.first
	for i, sh := range m.Shards {
		s.shards = append(s.shards, expected{Shard: sh, from: index.ManifestName, number: -1, first: at, vouched: true})
		at += sh.Samples
		s.own(i, &s.shards[i])
	}
	for _, f := range m.Files {
		s.other = append(s.other, otherFile{File: f, from: index.ManifestName, shard: -1})
	}
}

// own lists the further files of shard i.
func (s *set) own(i int, e *expected) {
	for _, f := range e.Files {
		s.other = append(s.other, otherFile{File: f, from: e.from, shard: i})
	}
}

// prepare derives what all shards of the format have in common.
func (s *set) prepare() error {
	s.isShard = map[string]bool{}
	for i := range s.shards {
		s.isShard[s.shards[i].Name] = true
	}
	var err error
	switch s.format {
	case index.FormatMmap:
		s.layout, err = index.NewLayout(s.schema, s.keyed)
		if err == nil && s.manifest != nil && len(s.manifest.Members) > 0 {
			err = shardify.Corrupt(-1, "names of tar members for mmap shards")
		}
	case index.FormatWDS:
		if s.manifest != nil {
			s.members, err = index.MembersOf(s.schema, s.manifest.Members)
		} else {
			s.members, err = index.Members(s.schema)
		}
	}
	if err != nil {
		s.addError(LevelManifest, s.from, err)
	}
	return nil
}

// text reads a small file whole.
func (s *set) text(name string) ([]byte, error) {
	b, err := s.store.Open(name)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if b.Size() > maxText {
		return nil, shardify.Corrupt(-1, "%d bytes; at most %d are believed", b.Size(), maxText)
	}
	buf := make([]byte, b.Size())
	n, err := b.ReadAt(buf, 0)
	if n == len(buf) {
		return buf, nil
	}
	if err == nil || err == io.EOF {
		return nil, shardify.Corrupt(int64(n), "ends here, %d bytes before its size", len(buf)-n)
	}
	return nil, err
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
	if name == "index.json" || strings.HasPrefix(name, ".nv-meta/") {
		return true
	}
	stem, ok := strings.CutSuffix(name, ".idx")
	if !ok || s.plan == nil {
		return false
	}
	for i := range s.plan.Shards {
		if n := s.plan.ShardName(i); stem == n || stem+s.plan.Ext == n {
			return true
		}
	}
	return false
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
