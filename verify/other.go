package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/questions"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/verify/problem"
)

// maxFlip is the longest text whose every bit is tried against its digest.
const maxFlip = 1 << 20

// checkOther checks the published files that are not shards: sizes and digests.
// They are small next to the shards, so they are read whatever part of those is.
func (s *set) checkOther(ctx context.Context) {
	for i := range s.other {
		if ctx.Err() != nil {
			return
		}
		s.checkFile(&s.other[i])
	}
}

// checkQuestions compares what the manifest says beyond shards, such as windows, with the shards.
func (s *set) checkQuestions() {
	if s.manifest == nil {
		return
	}
	err := questions.Verify(s.store, s.manifest, func(what string) {
		s.add(problem.New(problem.LevelStructure, problem.KindMismatch, index.ManifestName, what))
	})
	if err != nil && !s.anyBad() { // damage of a shard is reported for the shard
		s.addError(problem.LevelStructure, index.ManifestName, err)
	}
}

// anyBad reports whether problems were found.
func (s *set) anyBad() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return len(s.c.report.Problems) > 0
}

func (s *set) checkFile(f *otherFile) {
	b, err := s.store.Open(f.Name)
	if err != nil {
		f.bad = errors.Is(err, fs.ErrNotExist)
		s.openError(err, f.Name, f.from, f.Bytes, fixRepair)
		return
	}
	defer b.Close()
	if size := b.Size(); size != f.Bytes {
		f.bad = true
		s.add(sizeProblem(f.Name, f.from, f.Bytes, size, fixRepair))
		return
	}
	digest, err := digestOf(b)
	for k := 0; err == nil && digest != f.Digest && k < dataset.Refetches && dataset.Again(b, shardify.ErrCorrupt); k++ {
		digest, err = digestOf(b)
	}
	switch {
	case err != nil:
		s.addError(problem.LevelIndex, f.Name, err)
	case digest != f.Digest:
		f.bad, f.digest = true, digest // explain reports it, with the place if it can be found
	}
}

// digestOf digests a file in pieces.
func digestOf(b storage.Blob) (string, error) {
	buf := bufferPool.Get().(*buffers)
	defer bufferPool.Put(buf)
	d := &digesting{r: b, size: b.Size(), buf: buf.digest, digest: new(index.Digest)}
	return d.rest()
}

// diagnose reports the shards whose digest is wrong, now that all digests are
// known.
func (s *set) diagnose() {
	owner := map[string]string{}
	for i := range s.shards {
		if s.shards[i].vouched {
			owner[s.shards[i].Digest] = s.shards[i].Name
		}
	}
	for i := range s.shards {
		e, r := &s.shards[i], &s.results[i]
		if !e.vouched || r.digest == "" || r.digest == e.Digest {
			continue
		}
		level := problem.LevelChecksum
		if s.verifier.Head > 0 {
			level = problem.LevelStructure // of the header
		}
		p := digestProblem(level, e.Name, e.from, e.Digest, r.digest)
		p.Object, p.Offset = r.object, r.offset
		switch other := owner[r.digest]; {
		case other != "":
			p.Kind, p.What = problem.KindSwapped, "holds what "+other+" should hold: digest"
		case r.what != "":
			p.What = r.what + "; digest"
		case r.sound && s.verifier.Head > 0:
			p.What = "a sound shard, but not the one that was converted: digest"
		}
		s.add(p)
	}
}

// explain reports the other files that are damaged. Those that can be rebuilt from the shards are
// compared with what they should be, which shows the place, and are repaired on request.
func (s *set) explain(ctx context.Context) error {
	d := newDerived(s)
	for i := range s.other {
		f := &s.other[i]
		if !f.bad {
			continue
		}
		want, err := d.file(ctx, f)
		if err != nil {
			return err
		}
		if want = s.explainFile(f, want); s.o.Repair {
			if err := s.repairFile(ctx, f.Name, want); err != nil {
				return err
			}
		}
	}
	return s.explainManifest(ctx, d)
}

// explainFile reports a damaged file with the place, and returns its right
// content: want, if that is known, else what a single flipped bit explains.
func (s *set) explainFile(f *otherFile, want []byte) []byte {
	if int64(len(want)) != f.Bytes {
		want = nil // size and digest in the record cannot both be right
	}
	if f.digest == "" {
		return want // missing or of another size: reported
	}
	p := digestProblem(problem.LevelIndex, f.Name, f.from, f.Digest, f.digest)
	p.Fix = fixRepair
	have, err := s.text(f.Name, nil)
	switch {
	case err != nil || int64(len(have)) != f.Bytes:
	case want != nil:
		at := firstDiff(have, want)
		p.Offset = int64(at)
		p.What = fmt.Sprintf("%d bytes are changed, the first is %#02x and was %#02x; digest", countDiff(have, want), have[at], want[at])
	default:
		if at, mask, ok := flipDigest(have, &s.c.flips, f.Digest); ok {
			p.Offset, p.What = int64(at), flipText(have[at], mask)+"; digest"
			have[at] ^= mask
			want = have
		} else {
			p.Fix = ""
		}
	}
	s.add(p)
	return want
}

func firstDiff(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return max(n-1, 0)
}

func countDiff(a, b []byte) (n int) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
