package plan

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Sample is what one sample is.
type Sample struct {
	Schema []shardify.Field `json:"schema"`
	Keyed  bool             `json:"keyed,omitempty"`
	// Coords are the coordinates of the fields' dimensions.
	Coords map[string]format.Coord `json:"coords,omitempty"`
	Source []shardify.Field        `json:"source,omitempty"` // schema of the source, where operations change it
	// Documents is the schema of the samples that sequences are made of; nil: samples stay samples.
	Documents []shardify.Field `json:"documents,omitempty"`
	Copies    int              `json:"copies,omitempty"` // of a sample at most
}

// growth is what a sample is expected to become: output = fixed bytes a sample more
// and factor times the bytes. The fixed part is exact; what varies in length is taken
// to grow as its elements do.
func (s *Sample) growth() (fixed, factor float64) {
	if s.Source == nil {
		return 0, 1
	}
	fixedIn, jaggedIn := weigh(s.Source)
	fixedOut, jaggedOut := weigh(s.Weighed())
	factor = 1
	if jaggedIn > 0 {
		factor = jaggedOut / jaggedIn
	} else if jaggedOut == 0 {
		factor = 0
	}
	n := float64(max(s.Copies, 1))
	return n * (fixedOut - float64(factor*fixedIn)), n * factor
}

// Weighed is the fields of samples in the end, or of the documents that sequences are made of.
func (s *Sample) Weighed() []shardify.Field {
	if s.Documents != nil {
		return s.Documents
	}
	return s.Schema
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

// SourceSchema is the schema of the source.
func (s *Sample) SourceSchema() []shardify.Field {
	if s.Source != nil {
		return s.Source
	}
	return s.Schema
}
