package wds

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/verify/problem"
)

// verifier checks tars: every header and filler, names, sizes and headers of the members
// against the schema, and the offset index.
type verifier struct {
	keyed bool
	tar   *dataset.Tar
}

func verify(schema []shardify.Field, keyed bool, names map[string]string) (format.Verifier, error) {
	tar, err := dataset.NewTar(schema, names, keyed)
	if err != nil {
		return format.Verifier{}, err
	}
	return format.Verifier{Shard: (&verifier{keyed, tar}).shard}, nil
}

// windowBytes is the buffer of a walk over tar headers.
const windowBytes = 256 << 10

func (v *verifier) shard(c *format.ShardCheck) {
	w := &tarWalk{ShardCheck: c, set: v, idx: openIndex(c), walk: dataset.NewWalk(v.tar), members: memberCheck{v.tar, map[string]int64{}, [8]byte{}}}
	defer w.idx.close()
	w.walk.Reset(c.File, c.Shard.Bytes, c.Buf[:windowBytes])
	w.tar = tar.Walker{Window: &w.walk.Window}
	w.run()
	c.Samples = w.sample
}

// tarWalk walks a tar sample by sample.
type tarWalk struct {
	*format.ShardCheck
	set     *verifier
	walk    *dataset.Walk // reads and checks values; the order of members is checked here
	tar     tar.Walker
	idx     *tarIndex
	members memberCheck
	sample  int64 // the current one
	key     []byte
	found   int // members of the current sample so far
	last    string
	bad     bool
}

// run walks to the end. Where the headers are damaged it continues with the next
// sample that the offset index names.
func (w *tarWalk) run() {
	end := w.walk.Size() - tar.End
	if end < 0 || end%tar.Block != 0 {
		_, err := tar.CheckEnd(&w.walk.Window)
		w.Fail(problem.LevelStructure, err)
		return
	}
	w.sample = -1
	w.tar.Part(0, end)
	for at := int64(0); ; {
		t, err := w.tar.Next()
		if err == nil {
			at = t.End()
			w.member(&t)
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		w.problem(err)
		if at = w.resync(at); at < 0 {
			return
		}
		w.tar.Part(at, end)
	}
	w.endSample(end)
	w.sample++
	w.idx.entry(w.sample, end)
	if _, err := tar.CheckEnd(&w.walk.Window); err != nil {
		w.problem(err)
	}
	w.Count(w.sample, "the tar")
}

// problem reports an error at its place, and the sample where it was found.
func (w *tarWalk) problem(err error) {
	p := problem.Of(problem.LevelStructure, "", err)
	p.Sample = w.sample
	if p.Object == "" && len(w.key) > 0 {
		p.Object = "after " + string(w.key)
		if w.last != "" {
			p.Object += "." + w.last
		}
	}
	w.bad = true
	w.Report(p)
}

// resync is where the next sample behind at begins, from the index; -1 if the index cannot
// be trusted.
func (w *tarWalk) resync(at int64) int64 {
	for i := max(w.sample, 0) + 1; ; i++ {
		next, ok := w.idx.get(i)
		if !ok || next >= w.walk.Size()-tar.End || next%tar.Block != 0 {
			return -1
		}
		if next > at {
			w.sample, w.found, w.last, w.key = i-1, 0, "", w.key[:0]
			w.bad = true
			return next
		}
	}
}

// member checks one member: whose sample it is, whether it comes in its place,
// and what its data hold.
func (w *tarWalk) member(t *tar.Entry) {
	w.Parts++
	key, tail, ok := tar.SplitKey(t.Name)
	if !ok {
		w.problem(shardify.Corrupt(t.Offset, "member name %q has no key and field", t.Name))
		return
	}
	if w.sample < 0 || w.found == 0 || !bytes.Equal(key, w.key) {
		w.begin(t, key)
	}
	m, name, ok := w.set.tar.Find(w.found, tail)
	inOrder := w.found == 0 || name > w.last
	w.found++
	if ok && inOrder {
		w.last = name
		w.content(m, t)
		return
	}
	p := problem.New(problem.LevelStructure, problem.KindFormat, "", "the schema has no such member")
	if ok {
		p.What = "members of a sample are not in order: it comes after " + w.last
	}
	p.Sample, p.Offset, p.Object = w.sample, t.Offset, string(t.Name)
	w.bad = true
	w.Report(p)
}

// begin starts the next sample.
func (w *tarWalk) begin(t *tar.Entry, key []byte) {
	w.endSample(t.Offset)
	w.sample++
	w.idx.entry(w.sample, t.Offset)
	w.key = append(w.key[:0], key...)
	w.found, w.last, w.bad = 0, "", false
	w.members.begin()
	err := tar.CheckKey(key)
	if err == nil && !w.set.keyed {
		if _, ok := tar.ParseRowKey(key); !ok {
			err = shardify.Corrupt(t.Offset, "key %q is not that of a row", key)
		}
	}
	if err != nil {
		p := problem.Of(problem.LevelStructure, "", err)
		p.Sample, p.Offset, p.Object = w.sample, t.Offset, string(t.Name)
		w.Report(p)
	}
}

// endSample checks that the current sample had all its members.
func (w *tarWalk) endSample(at int64) {
	if w.sample < 0 || w.bad || w.found == len(w.set.tar.Members) {
		return
	}
	p := problem.New(problem.LevelStructure, problem.KindFormat, "", fmt.Sprintf("sample has %d members, the schema %d", w.found, len(w.set.tar.Members)))
	p.Sample, p.Offset, p.Object = w.sample, at, string(w.key)
	w.Report(p)
}

// content checks a member's data as far as its kind says something about them.
func (w *tarWalk) content(m int, t *tar.Entry) {
	err := w.members.check(w.walk, m, t)
	if err == nil {
		return
	}
	p := problem.Of(problem.LevelStructure, "", err)
	p.Sample, p.Object = w.sample, string(w.key)+"."+w.last
	p.Field = w.set.tar.Members[m].Of.Name
	w.bad = true
	w.Report(p)
}
