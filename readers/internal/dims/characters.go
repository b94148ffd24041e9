package dims

// Characters finds arrays of single characters whose last dimension is that of texts, by the rule
// of xarray: only characters run along it, as the last dimension of their arrays, and it has no
// coordinate.
type Characters struct{ other map[string]bool }

// Use notes an array that has values, by the names of its dimensions, "" being none; text: its
// elements are texts or characters, and it is not a coordinate.
func (c *Characters) Use(names []string, text bool) {
	if c.other == nil {
		c.other = map[string]bool{}
	}
	for i, name := range names {
		if !text || i < len(names)-1 {
			c.other[name] = true
		}
	}
}

// Along reports whether characters along a last dimension of this name are a text.
func (c *Characters) Along(name string) bool { return name != "" && !c.other[name] }
