package wds

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
)

// sink writes one shard: the tar as the samples come, its offset index at the
// end.
type sink struct {
	store storage.Store
	spec  format.ShardSpec
	out   output
	err   error // of the first failure, or errDone

	cols    []column
	images  []*column // those whose members' names vary
	plans   []*plan   // by the images' extensions
	tarIdx  []byte
	samples int64
	frame   *shardify.Frame // that the shard wants; nil if none
	order   []int           // of the members in a frame
	colOf   []int           // of each field, that is a member
	inPlace bool            // the batch has the wanted frame
	// Keys of the last two samples.
	key, lastKey []byte
}

// plan is the members of a sample in the order of their names.
type plan struct {
	steps   []step
	maxTail int
	framed  bool // the order is that of the frame
}

type step struct {
	col  int
	tail tar.Tail
}

var errDone = errors.New("shard is published or aborted")

func newSink(store storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	if err := check(spec.Schema, spec.Keyed, spec.Options); err != nil {
		return nil, err
	}
	members, err := tar.Members(spec.Schema)
	if err != nil {
		return nil, err
	}
	s := &sink{store: store, spec: spec, cols: make([]column, len(members))}
	plans := 1
	s.colOf = make([]int, len(spec.Schema))
	for i, m := range members {
		s.cols[i] = newColumn(spec.Schema, m)
		s.colOf[m.Field] = i
		if m.Kind == tar.MemberImage {
			s.images = append(s.images, &s.cols[i])
			plans *= len(m.Exts)
		}
	}
	s.plans = make([]*plan, plans)
	s.order = tar.SortMembers(members, make([]int, len(members)))
	s.frame = frame(spec.Schema, spec.Options)
	s.tarIdx = make([]byte, 0, tar.IndexBytes(min(max(spec.Samples, 0), 1<<20)))
	if s.out.w, err = store.Create(spec.Name); err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	s.out.buf = buffers.Get().(*[outputBytes]byte)[:]
	return s, nil
}

// Write appends the samples of a batch.
func (s *sink) Write(b *shardify.Batch) error {
	if s.err != nil {
		return s.err
	}
	if s.err = s.write(b); s.err != nil {
		s.err = shardify.Annotate(s.err, "write", s.spec.Name, "")
	}
	return s.err
}

func (s *sink) write(b *shardify.Batch) error {
	if err := s.bind(b); err != nil {
		return err
	}
	if b.Frame != nil {
		return s.framed(b)
	}
	for i := 0; i < b.Samples; i++ {
		if err := s.nextKey(b, i); err != nil {
			return at(err, b, i, "")
		}
		s.tarIdx = tar.AppendIndex(s.tarIdx, s.out.offset())
		if err := s.sample(b, i); err != nil {
			return err
		}
		s.samples++
	}
	return nil
}

// at says which sample and field an error is about.
func at(err error, b *shardify.Batch, i int, field string) error {
	e, ok := err.(*shardify.Error)
	if !ok {
		return err
	}
	c := *e
	c.Sample, c.Field = b.ID(i).Sample, field
	return &c
}

// nextKey puts the key of sample i into s.key. Two samples of one key in a row
// would be one sample to every reader.
func (s *sink) nextKey(b *shardify.Batch, i int) error {
	id := b.ID(i)
	s.key, s.lastKey = s.lastKey[:0], s.key
	if b.Keys == nil {
		s.key = tar.AppendRowKey(s.key, id)
	} else {
		s.key = append(s.key, b.Key(i)...)
		if err := tar.CheckKey(s.key); err != nil {
			return err
		}
		if id.Copy > 0 && s.spec.Keyed {
			return shardify.Unsupported("copy %d of sample %q: copies of samples that have names", id.Copy, s.key)
		}
		s.key = tar.AppendCopy(s.key, id)
	}
	if bytes.Equal(s.key, s.lastKey) {
		return shardify.Mismatch("two samples in a row are named %q", s.key)
	}
	return nil
}

// plan is the order of sample i's members.
func (s *sink) plan(i int) (*plan, error) {
	n := 0
	for _, c := range s.images {
		code := int(c.ext[i])
		if code >= len(c.Exts) {
			return nil, shardify.Mismatch("image %s: extension code %d, %d are listed", c.field.Name, code, len(c.Exts))
		}
		n = n*len(c.Exts) + code
	}
	if s.plans[n] == nil {
		s.plans[n] = s.newPlan(i)
	}
	p := s.plans[n]
	if n := len(s.key) + p.maxTail; n > tar.MaxName {
		return nil, shardify.Mismatch("sample %q gives member names of %d bytes, a tar holds %d: shorten the name, or use --keys ordinal",
			s.key, n, tar.MaxName)
	}
	return p, nil
}

func (s *sink) newPlan(i int) *plan {
	members, codes := make([]tar.Member, len(s.cols)), make([]int, len(s.cols))
	for k := range s.cols {
		members[k] = s.cols[k].Member
		if members[k].Kind == tar.MemberImage {
			codes[k] = int(s.cols[k].ext[i])
		}
	}
	p := new(plan)
	order := tar.SortMembers(members, codes)
	p.framed = slices.Equal(order, s.order)
	for _, k := range order {
		t := tar.NewTail(members[k].NameOf(codes[k]))
		p.steps = append(p.steps, step{k, t})
		p.maxTail = max(p.maxTail, t.Len())
	}
	return p
}

// sample writes the members of sample i.
func (s *sink) sample(b *shardify.Batch, i int) error {
	p, err := s.plan(i)
	if err != nil {
		return at(err, b, i, "")
	}
	return s.members(b, i, p)
}

func (s *sink) members(b *shardify.Batch, i int, p *plan) error {
	sum := tar.Sum(s.key)
	for k := range p.steps {
		st := &p.steps[k]
		head, body, err := s.content(b, i, st)
		if err != nil {
			return err
		}
		if err := s.member(st, sum, head, body); err != nil {
			return err
		}
	}
	return nil
}

// content is what a member of sample i holds.
func (s *sink) content(b *shardify.Batch, i int, st *step) (head, body []byte, err error) {
	c := &s.cols[st.col]
	head, body, err = c.member(i)
	if err == nil && len(head)+len(body) > tar.MaxMember {
		err = shardify.Unsupported("member of %d bytes, a tar holds %d: use --format mmap", len(head)+len(body), int64(tar.MaxMember))
	}
	if err != nil {
		return nil, nil, at(err, b, i, c.field.Name)
	}
	return head, body, nil
}

func (s *sink) member(st *step, sum uint32, head, body []byte) error {
	h, err := s.out.header()
	if err != nil {
		return err
	}
	st.tail.Put(h, s.key, sum, int64(len(head)+len(body)))
	if err := s.out.data(head); err != nil {
		return err
	}
	if err := s.out.data(body); err != nil {
		return err
	}
	s.out.fill()
	return nil
}

// Commit ends the tar and publishes it. Its index goes first: any reader that sees the
// shard finds the index too, and a failure leaves nothing under the shard's name.
func (s *sink) Commit(ctx context.Context) (shardify.Shard, error) {
	if s.err != nil {
		return shardify.Shard{}, s.err
	}
	shard, err := s.commit(ctx)
	s.err = errDone
	s.out.free()
	if err != nil {
		s.err = shardify.Annotate(err, "publish", s.spec.Name, "")
		return shardify.Shard{}, s.err
	}
	return shard, nil
}

func (s *sink) commit(ctx context.Context) (shardify.Shard, error) {
	if s.spec.Exact && s.samples != s.spec.Samples {
		return shardify.Shard{}, shardify.Mismatch("%d samples were written, %d planned", s.samples, s.spec.Samples)
	}
	end := s.out.offset()
	if err := s.out.data(make([]byte, tar.End)); err != nil {
		return shardify.Shard{}, err
	}
	if err := s.out.flush(); err != nil {
		return shardify.Shard{}, err
	}
	s.tarIdx = tar.AppendIndex(s.tarIdx, end)
	idx, err := stage(s.store, s.spec.Name+tar.IndexExt, s.tarIdx)
	if err != nil {
		return shardify.Shard{}, err
	}
	defer idx.pending.Abort()
	if err := idx.pending.Commit(ctx); err != nil {
		return shardify.Shard{}, shardify.Annotate(err, "publish", idx.Name, "")
	}
	if err := s.out.w.Commit(ctx); err != nil {
		return shardify.Shard{}, err
	}
	return shardify.Shard{
		Name: s.spec.Name, Samples: s.samples, Bytes: s.out.size, Digest: s.out.sum.String(),
		Files: []shardify.File{idx.File},
	}, nil
}

// Abort drops the tar.
func (s *sink) Abort() error {
	if s.err == nil {
		s.err = errDone
	}
	s.out.free()
	return s.out.w.Abort()
}

// staged is a small file, written but not yet published.
type staged struct {
	shardify.File
	pending storage.Pending
}

func stage(store storage.Store, name string, b []byte) (*staged, error) {
	p, err := store.Create(name)
	if err != nil {
		return nil, shardify.Annotate(err, "write", name, "")
	}
	if _, err := p.Write(b); err != nil {
		return nil, shardify.Annotate(errors.Join(err, p.Abort()), "write", name, "")
	}
	return &staged{shardify.File{Name: name, Bytes: int64(len(b)), Digest: index.DigestOf(b)}, p}, nil
}

// publish writes a small file under its name.
func publish(ctx context.Context, store storage.Store, name string, b []byte) (shardify.File, error) {
	f, err := stage(store, name, b)
	if err != nil {
		return shardify.File{}, err
	}
	defer f.pending.Abort()
	return f.File, shardify.Annotate(f.pending.Commit(ctx), "publish", name, "")
}
