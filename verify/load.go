package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/verify/problem"
)

// maxText bounds manifests, receipts and other texts that are read whole.
const maxText = 1 << 30

// load finds out what should be there: from the manifest, else from receipts.
func (s *set) load(sizes map[string]int64) error {
	b, err := s.written()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		p := problem.Of(problem.LevelManifest, index.ManifestName, err)
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
	if !found && s.damaged == nil && s.prefix == "" && !s.started() {
		return fmt.Errorf("no %s and no plan: %w", index.ManifestName, ErrNotDataSet)
	}
	if s.prefix == "" {
		s.c.report.State = StateUnfinished
	}
	if s.damaged == nil {
		p := problem.New(problem.LevelManifest, problem.KindUnfinished, index.ManifestName, "is not there: the conversion is not finished")
		if p.Note = s.prefix == ""; changed(s.top().store) {
			p.Note, p.What = false, "is not there: the set has had versions, and only it names the shards of the last one"
		}
		s.add(p)
	}
	return s.prepare()
}

// started reports whether a folder is empty, or a conversion has left nothing in it but its private
// folder: a crash right after the start may leave that.
func (s *set) started() bool {
	if s.o.Dir == "" {
		return false
	}
	st, err := storages.Files.Stat(context.Background(), storage.Join(s.o.Dir, storage.Private))
	return err == nil && st.Type == storage.Folder || isEmpty(s.o.Dir)
}

func isEmpty(dir string) bool {
	for range storages.Files.List(context.Background(), dir) {
		return false
	}
	return true
}

// decode takes the manifest, with the one flipped bit undone if that is what is
// wrong with it.
func (s *set) decode(b []byte) {
	m, err := index.DecodeManifest(b)
	if err == nil {
		s.manifest = m
		return
	}
	p := problem.Of(problem.LevelManifest, index.ManifestName, err)
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
	if s.format == "" { // of a set of splits
		return nil
	}
	if s.sink = s.sinkNamed(s.format); s.sink == nil {
		s.addError(problem.LevelManifest, s.from, shardify.Unsupported("format %q", s.format))
		return nil
	}
	members, err := s.members()
	if err == nil {
		s.verifier, err = s.sink.Verify(s.schema, s.keyed, members)
	}
	if err != nil {
		s.addError(problem.LevelManifest, s.from, err)
	}
	return nil
}

// members names what the fields are called in shards: as the manifest says, or will say.
func (s *set) members() (map[string]string, error) {
	switch {
	case s.sink.Members == nil && s.manifest != nil && len(s.manifest.Members) > 0:
		return nil, shardify.Corrupt(-1, "names of tar members for %s shards", s.format)
	case s.sink.Members == nil:
		return nil, nil
	case s.manifest != nil:
		return s.manifest.Members, nil
	}
	return s.sink.Members(s.schema, nil)
}

// written is the text of the manifest: what was signed or has the id, where that was asked for. Of a split it is
// what readers get, which another text may stand for.
func (s *set) written() ([]byte, error) {
	if s.signed != nil {
		return s.signed, nil
	}
	b, err := s.text(index.ManifestName, decodes)
	if err != nil || s.o.Dir == "" {
		return b, err
	}
	return dataset.Published(context.Background(), storages.Files, storage.Join(s.o.Dir, s.prefix+index.ManifestName), b)
}

// decodes reports what is wrong with the text of a manifest.
func decodes(b []byte) error {
	_, err := index.DecodeManifest(b)
	return err
}

// text reads a small file whole, again from another machine if it arrived damaged.
func (s *set) text(name string, check func([]byte) error) ([]byte, error) {
	b, err := s.store.Open(name)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if b.Size() > maxText {
		return nil, shardify.Corrupt(-1, "%d bytes; at most %d are believed", b.Size(), maxText)
	}
	buf := make([]byte, b.Size())
	_, kept := storage.As[storage.Forgetter](b)
	for k := 0; ; k++ {
		n, err := b.ReadAt(buf, 0)
		switch {
		case n == len(buf) && kept && check != nil && k < dataset.Refetches && dataset.Again(b, check(buf)):
		case n == len(buf):
			return buf, nil
		case err == nil || err == io.EOF:
			return nil, shardify.Corrupt(int64(n), "ends here, %d bytes before its size", len(buf)-n)
		default:
			return nil, err
		}
	}
}
