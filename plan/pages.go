package plan

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

// pages is what a source keeps beside its state. In a plan file they follow the blocks: the content has
// their digests, the schedule their places.
type pages struct {
	list []packed
	of   format.Pager         // that has them, before they are published
	open func() (blob, error) // the file that they are in
}

// Survey keeps what a source has found out.
func (in *Inputs) Survey(src shardify.Source) (err error) {
	s, ok := src.(format.Stater)
	if !ok {
		return nil
	}
	if in.State, err = s.State(); err != nil {
		return err
	}
	p, ok := src.(format.Pager)
	if !ok {
		return nil
	}
	in.pages = pages{of: p}
	for i := range p.Pages() {
		b, err := p.Page(i)
		if err != nil {
			return err
		}
		in.pages.list = append(in.pages.list, packed{digest: index.DigestOf(b), plain: int64(len(b))})
	}
	return nil
}

// Page reads the pages of the source; nil without pages.
func (in *Inputs) Page() func(i int) ([]byte, error) {
	if in.pages.list == nil {
		return nil
	}
	return in.pages.page
}

// settle says where pages are that are published.
func (in *Inputs) settle(list []packed, open func() (blob, error)) {
	in.pages = pages{list: list, open: open}
}

func (p *pages) page(i int) ([]byte, error) {
	if i < 0 || i >= len(p.list) {
		return nil, shardify.Corrupt(-1, "the plan has no page %d", i)
	}
	if p.of != nil {
		return p.of.Page(i)
	}
	f, err := p.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := p.list[i].read(f)
	if err == nil {
		err = p.list[i].check(b)
	}
	return b, shardify.Annotate(err, "read", FileName, "")
}

// write writes pages at a place of a plan file, and returns where they are there.
func (p *pages) write(ctx context.Context, to io.Writer, at int64) (list []packed, err error) {
	if p.list == nil {
		return nil, nil
	}
	file := &counted{to, at}
	w, err := newBlockWriter(file, maxPlan)
	if err != nil {
		return nil, err
	}
	defer w.close()
	for i, x := range p.list {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b, err := p.page(i)
		if err != nil {
			return nil, err
		}
		if err := w.store(b, &x); err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// counted is a file that is written from a place on.
type counted struct {
	io.Writer
	at int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.at += int64(n)
	return n, err
}

// Size implements blockFile.
func (c *counted) Size() int64 { return c.at }

// appendDigests is what the content has of pages: nothing without pages.
func (p *pages) appendDigests(b []byte) []byte {
	if p.list == nil {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(p.list)))
	for i := range p.list {
		b = append(b, p.list[i].digest...)
	}
	return b
}

// parse is the inverse of appendDigests and of what the schedule has; end is where pages end.
func (p *pages) parse(v, s *varint.Reader, end int64) {
	if len(v.B) == 0 {
		return
	}
	p.list = make([]packed, v.Count(digestSize))
	for i := range p.list {
		p.list[i].digest = string(v.Bytes(uint64(digestSize)))
		p.list[i].place(s, end, maxPlan)
	}
}
