package convert

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
)

// The choices of Request.Shuffle. The same three words stand for the loader's.
const (
	ShuffleNone   = "none"
	ShuffleBlock  = "block"  // within each shard
	ShuffleGlobal = "global" // over all samples of all inputs
)

func (r *Request) shaped() bool {
	return len(r.Ops) > 0 || len(r.Helpers) > 0 || r.Split != nil || r.Provenance || r.Shuffle != "" && r.Shuffle != ShuffleNone
}

// shape plans a conversion that does something to the samples: schemas first, then
// what must be surveyed, then the cuts.
func (r *Request) shape(ctx context.Context, p *Plan) error {
	p.Seed, p.Ops, p.Helpers, p.Provenance = r.Seed, slices.Clone(r.Ops), r.Helpers, r.Provenance
	switch r.Shuffle {
	case "", ShuffleNone:
	case ShuffleBlock, ShuffleGlobal:
		p.Shuffle = r.Shuffle
	default:
		return shardify.Mismatch("shuffle %q: want %s, %s or %s", r.Shuffle, ShuffleNone, ShuffleBlock, ShuffleGlobal)
	}
	if err := r.shapeSplit(p); err != nil {
		return err
	}
	p.Source = p.Schema
	f, err := p.compile(r.Compile)
	if err != nil {
		return err
	}
	if err := f.chain(0); err != nil {
		return err
	}
	p.Schema = f.output()
	if n := slices.Max(f.copies); n > 1 {
		p.Copies = n
	}
	if err := r.checkShaped(p, f); err != nil {
		return err
	}
	if s, ok := r.Source.(shardify.Stater); ok {
		if p.State, err = s.State(); err != nil {
			return err
		}
	}
	if err := r.spans(ctx, p); err != nil {
		return err
	}
	if err := r.find(ctx, p, f); err != nil {
		return err
	}
	p.Schema = f.output()
	if err := r.checkShaped(p, f); err != nil {
		return err
	}
	r.pack(p)
	if p.Shuffle == ShuffleGlobal {
		r.repack(p)
	}
	return p.seal()
}

func (r *Request) shapeSplit(p *Plan) error {
	if r.Split == nil {
		return nil
	}
	s := *r.Split
	s.Parts, s.Inputs = slices.Clone(s.Parts), slices.Clone(s.Inputs)
	p.Split = &s
	if s.Objects {
		if err := p.Split.byObject(r.Source); err != nil {
			return err
		}
	} else if s.named() {
		if err := p.Split.byInput(p.Table); err != nil {
			return err
		}
	}
	return p.Split.settled()
}

// checkShaped looks at the schema that the operations make.
func (r *Request) checkShaped(p *Plan, f *flow) error {
	if p.Provenance && shardify.FieldIndex(f.schema, OriginField) >= 0 {
		return shardify.Mismatch("--provenance makes the field %q, which is there already: rename that", OriginField)
	}
	if err := shardify.ValidateSchema(p.Schema); err != nil {
		return err
	}
	if err := r.checkOutput(p); err != nil {
		return err
	}
	return r.checkKeys(p)
}

// find surveys, unless an earlier plan of the same conversion has.
func (r *Request) find(ctx context.Context, p *Plan, f *flow) error {
	if !f.surveys() && (p.Split == nil || !p.Split.counted()) {
		return nil
	}
	p.Base = p.base()
	if k := r.Known; k != nil && k.Base == p.Base {
		p.Findings, p.Cuts = k.Findings, k.Cuts
		if p.Split != nil {
			var err error
			if f.router, err = p.newRouter(); err != nil {
				return err
			}
		}
		return f.learn()
	}
	return r.survey(ctx, f)
}

// surveys tells whether a transform wants to see the data first.
func (f *flow) surveys() bool {
	for i := range f.stages() {
		if v, ok := f.stageAt(i).Transform.(shardify.Surveyor); ok && v.Surveys() != "" {
			return true
		}
	}
	return false
}

// growth is what a sample is expected to become: output = fixed bytes a sample more
// and factor times the bytes. The fixed part is exact; what varies in length is taken
// to grow as its elements do.
func (p *Plan) growth() (fixed, factor float64) {
	if p.Source == nil {
		return 0, 1
	}
	fixedIn, jaggedIn := weigh(p.Source)
	fixedOut, jaggedOut := weigh(p.Schema)
	factor = 1
	if jaggedIn > 0 {
		factor = jaggedOut / jaggedIn
	} else if jaggedOut == 0 {
		factor = 0
	}
	n := float64(max(p.Copies, 1))
	return n * (fixedOut - float64(factor*fixedIn)), n * factor
}

// weigh is the bytes of a sample's fixed fields, and of one element of each other.
func weigh(schema []shardify.Field) (fixed, jagged float64) {
	for i := range schema {
		if f := &schema[i]; f.Levels == 0 {
			fixed += float64(f.ElemBytes())
		} else {
			jagged += float64(f.ElemBytes())
		}
	}
	return fixed, jagged
}

// pass makes the packer reckon with what the operations do.
func (k *packer) pass(fixed, factor float64) {
	if k.p.Source == nil {
		return
	}
	n := float64(max(k.p.Copies, 1))
	k.shaped = true
	k.perSample = float64(n*float64(k.fixed)) + float64(fixed*k.factor)
	k.perByte = factor * k.factor
}

// Outputs is the number of shards, of each split if there are several.
func (p *Plan) Outputs() int {
	if p.Shuffle == ShuffleGlobal {
		return p.Gathers
	}
	return len(p.Shards)
}

// expected is about how many samples a shard will have.
func (p *Plan) expected(shard int) int64 {
	if p.Shuffle == ShuffleGlobal {
		return p.Samples / int64(max(p.Gathers, 1))
	}
	return p.Shards[shard].Samples
}
