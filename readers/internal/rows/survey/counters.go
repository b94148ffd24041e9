package survey

import "encoding/binary"

// lengthClasses records which lists of some files are equally long, sample by sample, as far as the survey
// knows: those with one class. A class of 0 is like no other. The zero value is that of no file.
type lengthClasses []int

// refine takes in what one more file says about the fields, "" for nothing. Two fields
// stay in one class if they are in every file, whatever the order of the files.
func (a lengthClasses) refine(says []string) lengthClasses {
	type pair struct {
		class int
		says  string
	}
	ids := map[pair]int{}
	out := make(lengthClasses, len(says))
	for i, s := range says {
		p := pair{says: s}
		if a != nil {
			p.class = a[i]
		}
		if s == "" || a != nil && p.class == 0 {
			continue
		}
		if ids[p] == 0 {
			ids[p] = len(ids) + 1
		}
		out[i] = ids[p]
	}
	return out
}

// shareCounters gives lists that are equally long in all files one counter: that of the first.
func (cs *candidates) shareCounters(layouts int) {
	first := map[string]string{}
	for _, c := range cs.list {
		key := c.lengthKey(layouts)
		if key == "" {
			continue
		}
		if counter, ok := first[key]; ok {
			c.field.Counter = counter
		} else {
			first[key] = c.field.Counter
		}
	}
}

// lengthKey is equal for fields that are equally long in all files; "" if there can be no other.
func (c *candidate) lengthKey(layouts int) string {
	if c.field.Levels == 0 || c.field.Counter == "" || len(c.refs) != layouts {
		return ""
	}
	var key []byte
	for _, r := range c.refs {
		class := 0
		if r.layout.lengths != nil {
			class = r.layout.lengths[r.field]
		}
		if class == 0 {
			return ""
		}
		key = binary.AppendUvarint(key, uint64(class))
	}
	return string(key)
}
