package writertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/verify/problem"
)

// samples in a test shard: prime, so that no cut divides it.
const samples = 23

// Run tests a format on all schemas that it accepts. readBack may be nil for a
// format that nothing here reads.
func Run(t *testing.T, f format.Output, readBack ReadBack) {
	options, err := format.CheckOptions(f.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, s := range Schemas() {
		t.Run(s.Name, func(t *testing.T) {
			if err := f.Check(s.Fields, s.Keyed, options); err != nil {
				if !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) {
					t.Fatalf("refused with an error of no kind: %v", err)
				}
				t.Skipf("refused: %v", err)
			}
			accepted++
			c := &contract{format: f, schema: s, options: options, readBack: readBack}
			t.Run("SameBytesHoweverCut", c.sameBytes)
			t.Run("NoMarksMeanAllPresent", c.noMarks)
			t.Run("RecordFitsTheFiles", c.record)
			t.Run("OwnsWhatItPublishes", c.owns)
			t.Run("IsFoundSound", c.verifies)
			t.Run("MovesIntoAnotherSet", c.moves)
			t.Run("ReadsBack", c.reads)
			t.Run("RefusesAnotherCount", c.counts)
			t.Run("RefusesAnotherSchema", c.schemas)
			t.Run("FailedWriteIsFinal", c.failedWrite)
			t.Run("AbortLeavesNothing", c.aborts)
			t.Run("EndsOnce", c.ends)
			t.Run("NeverReplaces", c.replaces)
			t.Run("FailedOperationPublishesNothing", c.faults)
		})
	}
	if accepted == 0 {
		t.Error("the format accepts none of the schemas")
	}
}

type contract struct {
	format   format.Output
	schema   Schema
	options  format.Options
	readBack ReadBack
}

func (c *contract) spec(n int64, exact bool) format.ShardSpec {
	return format.ShardSpec{
		Name: "shard-000000" + c.format.Ext, Schema: c.schema.Fields, Samples: n, Exact: exact,
		Keyed: c.schema.Keyed, Options: c.options,
	}
}

// write publishes a shard, and ruins every batch as soon as Write has returned.
func (c *contract) write(st storage.Store, spec format.ShardSpec, batches []*shardify.Batch) (shardify.Shard, error) {
	sink, err := c.format.New(st, spec)
	if err != nil {
		return shardify.Shard{}, err
	}
	defer sink.Abort()
	for _, b := range batches {
		err := sink.Write(b)
		poison(b)
		if err != nil {
			return shardify.Shard{}, err
		}
	}
	return sink.Commit(context.Background())
}

func (c *contract) mustWrite(t *testing.T, st storage.Store, spec format.ShardSpec, cut int) shardify.Shard {
	t.Helper()
	sh, err := c.write(st, spec, Batches(c.schema, samples, 1, cut))
	if err != nil {
		t.Fatal(err)
	}
	return sh
}

func (c *contract) sameBytes(t *testing.T) {
	var first map[string][]byte
	for _, exact := range []bool{true, false} {
		for _, cut := range []int{samples, 1, 7} {
			mem := memory.New()
			planned := int64(samples)
			if !exact {
				planned += 5
			}
			c.mustWrite(t, mem, c.spec(planned, exact), cut)
			if first == nil {
				first = mem.Files()
				continue
			}
			if diff := differ(first, mem.Files()); diff != "" {
				t.Errorf("exact %v, batches of %d: %s", exact, cut, diff)
			}
		}
	}
}

// noMarks: a column without valid marks is one whose marks are all 1.
func (c *contract) noMarks(t *testing.T) {
	if !slices.ContainsFunc(c.schema.Fields, func(f shardify.Field) bool { return f.Nullable }) {
		t.Skip("no nullable field")
	}
	var files [2]map[string][]byte
	for i := range files {
		batches := Batches(c.schema, samples, 1, 7)
		for _, b := range batches {
			for j := range b.Columns {
				if b.Columns[j].Valid != nil {
					b.Columns[j].Valid = marks(nil, b.Samples*i)
				}
			}
		}
		mem := memory.New()
		if _, err := c.write(mem, c.spec(samples, true), batches); err != nil {
			t.Fatal(err)
		}
		files[i] = mem.Files()
	}
	if diff := differ(files[0], files[1]); diff != "" {
		t.Error(diff)
	}
}

func differ(a, b map[string][]byte) string {
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			at := 0
			for at < len(a[name]) && at < len(b[name]) && a[name][at] == b[name][at] {
				at++
			}
			return fmt.Sprintf("%s: %d and %d bytes, differing from byte %d", name, len(a[name]), len(b[name]), at)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d files", len(a), len(b))
	}
	return ""
}

// record: what Commit returns is true of the files, and names all of them.
func (c *contract) record(t *testing.T) {
	mem := memory.New()
	spec := c.spec(samples, true)
	sh := c.mustWrite(t, mem, spec, 7)
	files := mem.Files()
	if sh.Name != spec.Name || sh.Samples != samples || sh.Bytes != int64(len(files[sh.Name])) || !index.ValidDigest(sh.Digest) {
		t.Errorf("record %+v of a file of %d bytes", sh, len(files[sh.Name]))
	}
	named := []string{sh.Name}
	for _, f := range sh.Files {
		named = append(named, f.Name)
		if b := files[f.Name]; f.Bytes != int64(len(b)) || f.Digest != index.DigestOf(b) {
			t.Errorf("record %+v of a file of %d bytes, digest %s", f, len(b), index.DigestOf(b))
		}
	}
	slices.Sort(named)
	if have := slices.Sorted(maps.Keys(files)); !slices.Equal(have, named) {
		t.Errorf("published %v, the record names %v", have, named)
	}
}

// owns: what is published beside the shards, and for the whole set, is the format's by its
// name; a stranger's file and the shards are not.
func (c *contract) owns(t *testing.T) {
	f := &c.format
	for _, name := range []string{"notes.txt", "shard-000000" + f.Ext, "data.bin", index.ManifestName} {
		if f.Owns != nil && f.Owns(name) {
			t.Errorf("owns %s", name)
		}
	}
	dir := t.TempDir()
	m := WriteSet(t, c.format, c.schema, dir, Batches(c.schema, samples, 1, samples)[0])
	st := local.NewDir(dir, local.SyncNone)
	set := format.FinishedSet{Schema: c.schema.Fields, Keyed: c.schema.Keyed, Shards: m.Shards, Options: maps.Clone(c.options)}
	for i := range f.Options { // whatever an option adds
		if f.Options[i].Kind == format.KindBool {
			set.Options[f.Options[i].Name] = "true"
		}
	}
	files := m.Shards[0].Files
	finished := func(more []shardify.File, err error) {
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	if f.Finish != nil {
		finished(f.Finish(context.Background(), st, set))
	}
	if f.FinishSplits != nil {
		finished(f.FinishSplits(context.Background(), memory.New(), []format.FinishedSplit{{Name: "train", Shards: m.Shards}}))
	}
	for _, x := range files {
		if f.Owns == nil || !f.Owns(x.Name) {
			t.Errorf("publishes %s, which Owns does not report", x.Name)
		}
	}
}

// verifies: the format finds nothing wrong with its shards, and their digests cover what it
// says.
func (c *contract) verifies(t *testing.T) {
	mem := memory.New()
	sh := c.mustWrite(t, mem, c.spec(samples, true), 7)
	var members map[string]string
	if c.format.Members != nil {
		var err error
		if members, err = c.format.Members(c.schema.Fields, c.options); err != nil {
			t.Fatal(err)
		}
	}
	v, err := c.format.Verify(c.schema.Fields, c.schema.Keyed, members)
	if err != nil {
		t.Fatal(err)
	}
	b := mem.Files()[sh.Name]
	if v.Head > 0 && sh.Digest != index.DigestOf(b[:v.Head]) || v.Head == 0 && sh.Digest != index.PieceDigestOf(b) {
		t.Errorf("digest %s is not that of the first %d bytes (0: a PieceDigest of all)", sh.Digest, v.Head)
	}
	for _, full := range []bool{false, true} {
		x := format.ShardCheck{
			Shard: sh, From: "record", Schema: "schema", File: bytes.NewReader(b), Size: sh.Bytes, Store: mem, Buf: make([]byte, 1<<20), Full: full,
			Report: func(p problem.Problem) { t.Errorf("full check %v: %s", full, p.String()) }, Intact: func() bool { return true }, Samples: -1,
		}
		if v.Shard(&x); x.Samples != samples {
			t.Errorf("full check %v: %d samples found of %d", full, x.Samples, samples)
		}
	}
}

// counts: an exact shard of fewer or more samples is never published.
func (c *contract) counts(t *testing.T) {
	for _, planned := range []int64{samples - 1, samples + 1, 0} {
		mem := memory.New()
		sh, err := c.write(mem, c.spec(planned, true), Batches(c.schema, samples, 1, 7))
		if err == nil || len(mem.Files()) > 0 {
			t.Errorf("%d samples planned, %d written: record %+v, error %v, %d files", planned, samples, sh, err, len(mem.Files()))
		}
	}
}

func (c *contract) schemas(t *testing.T) {
	for name, change := range map[string]func(b *shardify.Batch){
		"another name":   func(b *shardify.Batch) { b.Columns[0].Name += "x" },
		"a column less":  func(b *shardify.Batch) { b.Columns = b.Columns[1:] },
		"a column twice": func(b *shardify.Batch) { b.Columns = append(b.Columns, b.Columns[0]) },
		"another dtype":  func(b *shardify.Batch) { b.Columns[0].DType = other(b.Columns[0].DType) },
		"another shape":  func(b *shardify.Batch) { b.Columns[0].Shape = append(slices.Clone(b.Columns[0].Shape), 1) },
		"another level": func(b *shardify.Batch) {
			col := &b.Columns[0]
			col.Levels++
			col.Offsets = append([][]int64{identity(b.Samples)}, col.Offsets...)
		},
	} {
		mem := memory.New()
		batches := Batches(c.schema, samples, 1, 7)
		change(batches[1])
		_, err := c.write(mem, c.spec(samples, true), batches)
		if !errors.Is(err, shardify.ErrSchema) || len(mem.Files()) > 0 {
			t.Errorf("%s: error %v and %d files, want a schema mismatch and none", name, err, len(mem.Files()))
		}
	}
}

// failedWrite: a caller that overlooks the error of a Write gets no shard without the
// batch.
func (c *contract) failedWrite(t *testing.T) {
	mem := memory.New()
	sink, err := c.format.New(mem, c.spec(samples, false))
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Abort()
	batches := Batches(c.schema, samples, 1, 7)
	batches[1].Columns[0].Name += "x"
	for i, b := range batches {
		if err := sink.Write(b); (err == nil) != (i == 0) {
			t.Errorf("batch %d: error %v", i, err)
		}
	}
	if _, err := sink.Commit(context.Background()); err == nil || len(mem.Files()) > 0 {
		t.Errorf("Commit after a failed Write: error %v, %d files", err, len(mem.Files()))
	}
}

// other is another type of the same size, so that only the name differs.
func other(d shardify.DType) shardify.DType {
	for o := shardify.Bool; o <= shardify.F64; o++ {
		if o != d && o.Size() == d.Size() {
			return o
		}
	}
	return shardify.Invalid
}

func identity(n int) []int64 {
	o := make([]int64, n+1)
	for i := range o {
		o[i] = int64(i)
	}
	return o
}

// aborts: neither a published file nor an open pending one stays.
func (c *contract) aborts(t *testing.T) {
	for written := 0; written <= 4; written++ {
		mem := memory.New()
		open := &ledger{Store: mem}
		sink, err := c.format.New(open, c.spec(samples, true))
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range Batches(c.schema, samples, 1, 7)[:written] {
			if err := sink.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := sink.Abort(); err != nil {
			t.Fatal(err)
		}
		if len(mem.Files()) > 0 || open.n != 0 {
			t.Errorf("after %d batches and Abort: %d files, %d pending", written, len(mem.Files()), open.n)
		}
		if _, err := sink.Commit(context.Background()); err == nil || len(mem.Files()) > 0 {
			t.Errorf("Commit after Abort: error %v, %d files", err, len(mem.Files()))
		}
	}
}

// ends: after Commit the shard stays, whatever is called.
func (c *contract) ends(t *testing.T) {
	mem := memory.New()
	open := &ledger{Store: mem}
	sink, err := c.format.New(open, c.spec(samples, true))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range Batches(c.schema, samples, 1, samples) {
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := sink.Commit(ctx); !errors.Is(err, context.Canceled) || len(mem.Files()) > 0 {
		t.Fatalf("Commit of a cancelled context: error %v, %d files", err, len(mem.Files()))
	}
	sink.Abort()
	if open.n != 0 {
		t.Errorf("%d pending files stay after a cancelled Commit and Abort", open.n)
	}

	sink, _ = c.format.New(open, c.spec(samples, true))
	for _, b := range Batches(c.schema, samples, 1, samples) {
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sink.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	before := mem.Files()
	if err := sink.Abort(); err != nil {
		t.Errorf("Abort after Commit: %v", err)
	}
	if err := sink.Write(Batches(c.schema, 1, 1, 1)[0]); err == nil {
		t.Error("Write after Commit was accepted")
	}
	if _, err := sink.Commit(context.Background()); err == nil {
		t.Error("a second Commit was accepted")
	}
	if diff := differ(before, mem.Files()); diff != "" || open.n != 0 {
		t.Errorf("calls after Commit changed the store: %s (%d pending)", diff, open.n)
	}
}

// replaces: the same shard again is success, another one under its name is not.
func (c *contract) replaces(t *testing.T) {
	mem := memory.New()
	c.mustWrite(t, mem, c.spec(samples, true), 7)
	before := mem.Files()
	c.mustWrite(t, mem, c.spec(samples, true), samples)
	_, err := c.write(mem, c.spec(samples-1, true), Batches(c.schema, samples-1, 2, 7))
	if !errors.Is(err, shardify.ErrExists) {
		t.Errorf("another shard under the same name: %v", err)
	}
	if diff := differ(before, mem.Files()); diff != "" {
		t.Errorf("published files changed: %s", diff)
	}
}

// faults fails the i-th operation on the store, for every i until the shard is
// written.
func (c *contract) faults(t *testing.T) {
	for i := 1; ; i++ {
		mem := memory.New()
		open := &ledger{Store: mem}
		spec := c.spec(samples, true)
		_, err := c.write(fault.New(open, i, false), spec, Batches(c.schema, samples, 1, 7))
		if open.n != 0 {
			t.Errorf("operation %d fails: %d pending files stay", i, open.n)
		}
		if err == nil {
			if i < 4 {
				t.Errorf("a shard took %d operations", i-1)
			}
			return
		}
		if !errors.Is(err, fault.ErrInjected) {
			t.Errorf("operation %d fails: error %v does not wrap the cause", i, err)
		}
		if _, ok := mem.Files()[spec.Name]; ok {
			t.Errorf("operation %d fails: the shard was published", i)
		}
		// What a failed attempt left must not block the next.
		if _, err := c.write(mem, spec, Batches(c.schema, samples, 1, 7)); err != nil {
			t.Errorf("operation %d fails: again: %v", i, err)
		}
		if i == 10000 {
			t.Fatal("no end of operations")
		}
	}
}
