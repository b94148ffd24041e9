package jsonl

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// COCO's annotations have a few members of a form of their own: boxes and key points are arrays of
// f32, and a segmentation is polygons in some annotations and an object with runs in others.

// maxFixed bounds the values of an array.
const maxFixed = 1 << 16

// rule says what the lists of a member of annotations are.
type rule uint8

const (
	ruleNone    rule = iota
	ruleBox          // x, y, width, height
	rulePoints       // x, y, v of each key point
	ruleMask         // polygons
	rulePolygon      // x, y of each corner
	ruleSize         // height, width
)

// ruleOf is the rule of a member that is new.
func ruleOf(n *node) rule {
	parent, name := n.parent, n.name
	switch {
	case parent.rule == ruleMask && n.items:
		return rulePolygon
	case parent.rule == ruleMask && name == "size":
		return ruleSize
	case n.items, parent.parent != nil && (!parent.items || parent.parent.name != "segments_info"):
	case name == "bbox":
		return ruleBox
	case parent.parent != nil:
	case name == "keypoints":
		return rulePoints
	case name == "segmentation":
		return ruleMask
	}
	return ruleNone
}

// check is what is wrong with a list of n values; "" if nothing is.
func (r rule) check(n int64) string {
	switch {
	case r == ruleBox && n != 4:
		return fmt.Sprintf("a box of %d numbers, not x, y, width, height", n)
	case r == rulePolygon && n%2 != 0:
		return fmt.Sprintf("a polygon of %d numbers, not of x, y each", n)
	case r == rulePoints && n%3 != 0:
		return fmt.Sprintf("key points of %d numbers, not of x, y, v each", n)
	case r == ruleSize && n != 2:
		return fmt.Sprintf("a size of %d numbers, not height, width", n)
	}
	return ""
}

// shape is that of the values of a node's lists, and what they are; nil if they stay lists.
func (n *node) shape() (shape []int, role string) {
	k := int(n.long)
	switch {
	case n.short != n.long:
	case n.rule == ruleBox:
		return []int{4}, "boxes=xywh"
	case n.rule == rulePoints && k > 0:
		return []int{k / 3, 3}, "points=xyv"
	case n.rule == ruleSize:
		return []int{2}, ""
	}
	return nil, ""
}

// inF32 reports whether numbers below a node are f32.
func (n *node) inF32() bool {
	for n.items {
		if n = n.parent; n.rule != ruleNone && n.rule != ruleSize {
			return true
		}
	}
	return false
}

// annotation says which annotation the object is that b begins with, for errors.
func annotation(b []byte) string {
	var a struct {
		ID json.Number `json:"id"`
	}
	if json.NewDecoder(bytes.NewReader(b)).Decode(&a) != nil || a.ID == "" {
		return ""
	}
	return "annotation " + a.ID.String() + ": "
}
