package wds

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
)

// frame asks for files and images at their places in the tar: after room for the numbers
// before them and for their own header, up to the end of their last block. It assumes the
// order that images of their first type have.
func frame(schema []shardify.Field, _ format.Options) *shardify.Frame {
	members, err := tar.Members(schema)
	if err != nil {
		return nil
	}
	f := &shardify.Frame{Block: tar.Block}
	for _, k := range tar.SortMembers(members, make([]int, len(members))) {
		switch members[k].Kind {
		case tar.MemberBytes, tar.MemberImage:
			f.Values = append(f.Values, shardify.FrameValue{Field: members[k].Field, Before: f.After + tar.Block})
			f.After = 0
		case tar.MemberClass:
			f.After += 2 * tar.Block
		default:
			return nil
		}
	}
	if f.Values == nil {
		return nil
	}
	return f
}

// NextFrame: the next batch should end where a write of the output does. What is
// left of it then is little, and goes to the lead of the next.
func (s *sink) NextFrame() (lead int, bytes int64) {
	return s.out.n, int64(outputBytes - s.out.n)
}

// framed writes a batch whose values are in a frame: it writes what belongs between them
// there, and sends the frame on without a copy. A sample whose members are in another order
// (the type of an image decides) is copied.
func (s *sink) framed(b *shardify.Batch) error {
	pos := int64(b.Frame.Lead)
	from := pos - int64(s.out.lead(b.Framed[:pos])) // of the frame: not yet out
	for i := range b.Samples {
		if err := s.nextKey(b, i); err != nil {
			return at(err, b, i, "")
		}
		p, err := s.plan(i)
		if err != nil {
			return at(err, b, i, "")
		}
		end, whole := s.place(b, i, pos)
		s.tarIdx = tar.AppendIndex(s.tarIdx, s.out.offset()+pos-from)
		if s.inPlace && whole && p.framed {
			err = s.around(b, i, p, pos)
		} else if err = s.out.data(b.Framed[from:pos]); err == nil {
			from, err = end, s.members(b, i, p)
		}
		if err != nil {
			return err
		}
		pos = end
		s.samples++
	}
	return s.out.data(b.Framed[from:pos])
}

// place finds the values of sample i, which begins at pos, and its end. whole
// says that all of each value is to be written.
func (s *sink) place(b *shardify.Batch, i int, pos int64) (end int64, whole bool) {
	whole = true
	for _, v := range b.Frame.Values {
		c := &s.cols[s.colOf[v.Field]]
		n := c.offsets[i+1] - c.offsets[i]
		whole = whole && (n == 0 || c.valid == nil || c.valid[i] != 0)
		c.place = pos + int64(v.Before)
		pos += int64(v.Before) + b.Frame.End(0, n)
	}
	return pos + int64(b.Frame.After), whole
}

// around writes the headers and numbers of sample i, which begins at pos, and
// clears the rest of each last block.
func (s *sink) around(b *shardify.Batch, i int, p *plan, pos int64) error {
	sum := tar.Sum(s.key)
	for k := range p.steps {
		st := &p.steps[k]
		head, body, err := s.content(b, i, st)
		if err != nil {
			return err
		}
		n := int64(len(head) + len(body)) // one of them is empty, and body is where it should be
		st.tail.Put(b.Framed[pos:pos+tar.Block], s.key, sum, n)
		pos += tar.Block
		copy(b.Framed[pos:], head)
		clear(b.Framed[pos+n : pos+n+tar.Pad(n)])
		pos += n + tar.Pad(n)
	}
	return nil
}
