package plan

import (
	"encoding/json"
	"fmt"
	"strings"
)

// fields are the fields of Plan itself.
type fields Plan

// head is the fields of all groups as one JSON object.
type head struct {
	*fields
	*Inputs
	*Output
	*Sample
	*Steps
	*Asked
	*Splits
	*Order
	*Packing
}

func headOf(p *Plan) *head {
	return &head{(*fields)(p), &p.In, &p.Out, &p.Sample, &p.Steps, &p.Asked, &p.Splits, &p.Order, &p.Pack}
}

// headOrder is the order of the fields on disk. The digest of a plan depends on it.
var headOrder = strings.Fields(`version input columns input_options output ext output_options recipe on_error
	schema keyed left_out coords static skipped unread samples decoded_bytes output_bytes
	seed ops source helpers documents grouping windowing split shuffle provenance findings cuts unsplit
	base copies gathers buckets per_shard listed first_input`)

func marshalHead(p *Plan) ([]byte, error) {
	b, err := json.Marshal(headOf(p))
	if err != nil {
		return nil, err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(b, &values); err != nil {
		return nil, err
	}
	list := make([]string, 0, len(values))
	for _, name := range headOrder {
		if v, ok := values[name]; ok {
			list = append(list, `"`+name+`":`+string(v))
		}
	}
	if len(list) != len(values) {
		return nil, fmt.Errorf("%d of %d fields have a place", len(list), len(values))
	}
	return []byte("{" + strings.Join(list, ",") + "}"), nil
}
