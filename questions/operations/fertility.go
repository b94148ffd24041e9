package operations

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/glance"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/tokenize"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/transform/codes"
)

// planTexts is how many texts are tokenized when a plan is made.
const planTexts = 64

// fertility counts the tokens of the texts of some samples, and estimates those of all. It skips
// texts that cannot be read or tokenized, which the conversion reports, and fields that operations
// make.
func (o *operations) fertility(ctx context.Context, c *ask.Conversion, samples int64) (notes []string) {
	src := c.Opened.Source
	schema := src.Schema()
	for _, text := range c.Shape[transform.Tokenize] {
		spec, err := codes.ParseTokenize(text)
		i := shardify.FieldIndex(schema, spec.Field)
		if err != nil || i < 0 || schema[i].Levels != 1 || !format.IsText(schema[i].Media) {
			continue
		}
		var r tokenize.Rates
		if with := o.side.Tokenizers[spec.Text()]; measure(ctx, src, i, with, &r) != nil || r.Documents == 0 {
			continue
		}
		all := rounded(int64(float64(r.Tokens) / float64(r.Documents) * float64(samples)))
		notes = append(notes, fmt.Sprintf("%s: %s in %s looked at, about %s in all", spec.Field, r, printable.Of(r.Documents, "text"), printable.Of(all, "token")))
	}
	return notes
}

// rounded is a number of two digits and zeros.
func rounded(n int64) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// measure tokenizes field i of some samples.
func measure(ctx context.Context, src shardify.Source, i int, with *codes.Tokenizer, r *tokenize.Rates) error {
	list := glance.Spread(ctx, src, planTexts)
	if len(list) == 0 {
		list = glance.First(ctx, src, planTexts)
	}
	for _, sp := range list {
		one, err := src.Reader(sp.Run)
		if err != nil {
			return err
		}
		defer one.Close()
		b, done := glance.Read(ctx, one, sp)
		if b == nil {
			done()
			continue
		}
		c := &b.Columns[i]
		texts := func(yield func([]byte) bool) {
			for k := range b.Samples {
				if lo, hi := c.Range(k, k+1); !yield(c.Data[lo:hi]) {
					return
				}
			}
		}
		err = with.Measure(texts, func(bytes, words, tokens int64) {
			r.Documents, r.Bytes, r.Words, r.Tokens = r.Documents+1, r.Bytes+bytes, r.Words+words, r.Tokens+tokens
		})
		done()
		if err != nil {
			return err
		}
	}
	return nil
}
