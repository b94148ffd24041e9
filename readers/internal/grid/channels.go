package grid

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// ChannelsOption is the option of all readers that know dimensions.
var ChannelsOption = format.Option{Name: "channels", Idle: format.Always, Kind: format.KindString, Quiet: true,
	Help: "stack fields of one grid into one: x=t2m,z@500,z@850,lsm makes x [4, lat, lon]; NAME@VALUE is a place of the one dimension more, NAME@* all of them"}

// Channels is what --channels says: fields that are made of others.
type Channels struct {
	Text   string
	Groups []Group
}

// Group is a field that is made of channels.
type Group struct {
	Name  string
	Parts []Part
}

// Part is a field that is one channel, or a place of its dimension more, or all of these.
type Part struct {
	Field string
	Value string // of the coordinate, "" without
	All   bool   // all places: NAME@*
}

// More reports whether the field has one dimension more than the channels.
func (p *Part) More() bool { return p.All || p.Value != "" }

// ParseChannels reads the value of --channels; nil if it is empty.
func ParseChannels(text string) (*Channels, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	c := &Channels{Text: text}
	wrong := func(format string, args ...any) error {
		return shardify.Misuse("--channels '%s': %s", text, fmt.Sprintf(format, args...))
	}
	for _, s := range strings.Split(text, ",") {
		s = strings.TrimSpace(s)
		if name, first, ok := strings.Cut(s, "="); ok {
			name = strings.TrimSpace(name)
			if err := shardify.ValidName(name); err != nil {
				return nil, wrong("%v", err)
			}
			if slices.ContainsFunc(c.Groups, func(g Group) bool { return g.Name == name }) {
				return nil, wrong("%s is made twice", name)
			}
			c.Groups = append(c.Groups, Group{Name: name})
			s = strings.TrimSpace(first)
		}
		if len(c.Groups) == 0 {
			return nil, wrong("%q is not NAME=FIELD,FIELD@VALUE,...", s)
		}
		field, value, more := strings.Cut(s, "@")
		p := Part{Field: strings.TrimPrefix(field, "/"), Value: value}
		if p.All = value == "*"; p.All {
			p.Value = ""
		}
		if p.Field == "" || more && value == "" {
			return nil, wrong("%q names no field, or no value", s)
		}
		g := &c.Groups[len(c.Groups)-1]
		if slices.Contains(g.Parts, p) {
			return nil, wrong("%s is there twice", s)
		}
		g.Parts = append(g.Parts, p)
	}
	for _, name := range c.Fields() {
		if len(c.values(name)) > 0 && slices.ContainsFunc(c.parts(name), func(p Part) bool { return p.All }) {
			return nil, wrong("%s@* and single places of it do not go together", name)
		}
	}
	return c, nil
}

// Value is the option's value, "" without channels.
func (c *Channels) Value() string {
	if c == nil {
		return ""
	}
	return c.Text
}

// parts are those of a field.
func (c *Channels) parts(field string) (list []Part) {
	if c == nil {
		return nil
	}
	for _, g := range c.Groups {
		for _, p := range g.Parts {
			if p.Field == field {
				list = append(list, p)
			}
		}
	}
	return list
}

// Fields are the names of the fields that channels are made of.
func (c *Channels) Fields() (list []string) {
	if c == nil {
		return nil
	}
	for _, g := range c.Groups {
		for _, p := range g.Parts {
			if !slices.Contains(list, p.Field) {
				list = append(list, p.Field)
			}
		}
	}
	return list
}

// Has reports whether channels are made of a field.
func (c *Channels) Has(field string) bool { return len(c.parts(field)) > 0 }

// More reports whether several places of an extra dimension of a field are wanted.
func (c *Channels) More(field string) bool {
	return slices.ContainsFunc(c.parts(field), func(p Part) bool { return p.More() })
}

// values are the places of a field's dimension more that are wanted one by one, in order: of
// them alone the field is read.
func (c *Channels) values(field string) (list []string) {
	for _, p := range c.parts(field) {
		if p.Value != "" && !slices.Contains(list, p.Value) {
			list = append(list, p.Value)
		}
	}
	return list
}

// Place is the position of a part's value among those that are read; -1 without a value.
func (c *Channels) Place(p *Part) int { return slices.Index(c.values(p.Field), p.Value) }

// pick is what is taken of a field's dimension more; nil for all of it.
func (c *Channels) pick(field string, a *Axis) (Pick, error) {
	values := c.values(field)
	if len(values) == 0 {
		return nil, nil
	}
	k := clause{flag: "--channels " + field + "@", step: 1}
	for _, v := range values {
		k.items = append(k.items, item{text: v, from: v})
	}
	p, err := k.pick(a)
	if err == nil && p.Len(a.N) != int64(len(values)) {
		err = shardify.Mismatch("%s%s: one of these values is at several places of %s", k.flag, strings.Join(values, ","), a.Name)
	}
	return p, err
}

// Columns are the fields to be read where columns are wanted: without any by name, the
// channels alone.
func (c *Channels) Columns(columns []string) (all []string, alone bool) {
	if c == nil {
		return columns, false
	}
	alone = true
	for _, name := range columns {
		if slices.ContainsFunc(c.Groups, func(g Group) bool { return g.Name == name }) {
			continue
		}
		all, alone = append(all, name), alone && strings.HasPrefix(name, "!")
	}
	if !alone {
		all = append(all, c.Fields()...)
	}
	return all, alone
}
