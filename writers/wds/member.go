package wds

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index/tar"
)

// memberCheck reads as much of the members of every sample as their kinds need.
type memberCheck struct {
	tar    *dataset.Tar
	counts map[string]int64 // of the current sample's counters
	word   [8]byte
}

// begin forgets the sample before.
func (c *memberCheck) begin() {
	if len(c.counts) > 0 {
		clear(c.counts)
	}
}

// maxTexts bounds the lists of texts that are checked; longer ones are left to
// the checksum.
const maxTexts = 16 << 20

func (c *memberCheck) check(w *dataset.Walk, member int, t *tar.Entry) error {
	m := &c.tar.Members[member]
	if m.Kind == tar.MemberTexts && t.Size > maxTexts {
		return nil
	}
	got, err := w.Measure(m, t, nil)
	switch {
	case err != nil:
		return err
	case m.Kind == tar.MemberClass:
		return w.Fill(c.word[:m.Elem], m, t)
	case m.Of.Counter != "" && m.Shape < 0:
		return c.counter(m.Of.Counter, got.N, t)
	}
	return nil
}

// counter holds fields that share a counter against each other.
func (c *memberCheck) counter(name string, n int64, t *tar.Entry) error {
	if other, ok := c.counts[name]; ok && other != n {
		return shardify.Corrupt(t.Data(), "%d elements, but other fields of counter %s have %d", n, name, other)
	}
	c.counts[name] = n
	return nil
}
