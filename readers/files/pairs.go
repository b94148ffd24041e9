package files

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/pairs"
	"github.com/shardify/shardify/readers/internal/tars"
	"github.com/shardify/shardify/tokenize/chars"
)

// lookPairs groups the files of pairs.
func (b *builder) lookPairs(ctx context.Context) (err error) {
	b.names = pairs.Names(b.pairs, b.files, pairStem(b.options))
	if b.g, err = group(ctx, b.names); err != nil {
		return err
	}
	known, strays := newFacts(b.folders), map[*kind]bool{}
	if err := known.learn(b.names, b.g); err != nil {
		return err
	}
	for _, k := range known.kinds {
		// The extensions of files in pairs begin with their fields.
		strays[k] = !slices.ContainsFunc(k.exts, func(ext string) bool { return ext != exts.None })
		b.stray = append(b.stray, strays[k])
	}
	b.leftStrays = known.leftStrays(strays)
	for i := range b.leftStrays {
		if l := &b.leftStrays[i]; strings.HasPrefix(l.Reason, alien) {
			l.Reason = "no --pair has it" + strings.TrimPrefix(l.Reason, alien)
		}
	}
	b.known = known
	var text []string
	for i := range b.pairs {
		text = append(text, b.pairs[i].Text)
	}
	b.notes = append(b.notes, "a sample is the files of "+strings.Join(text, " and ")+" with one path, less the folder and the suffix")
	return b.pairMembers()
}

// pairMembers makes a field of each pair.
func (b *builder) pairMembers() error {
	for i := range b.pairs {
		p := &b.pairs[i]
		m := member{Field: p.Field}
		image := true
		for _, ext := range b.known.exts {
			field, kind, ok := strings.Cut(ext, ".")
			if ok && field == strings.ToLower(p.Field) {
				m.Exts, image = append(m.Exts, ext), image && imageTypes[media(kind)]
			}
		}
		slices.Sort(m.Exts)
		switch unpack := tars.Unpack(p.Path); {
		case len(m.Exts) == 0 && unpack != "":
			return shardify.Hint(shardify.Unsupported("--pair %s: the files of a compressed tar cannot be read one by one", p.Text), unpack+" makes a tar, to be named instead")
		case len(m.Exts) == 0:
			return shardify.Mismatch("--pair %s: no file is in a folder %s%s%s", p.Text, printable.Quote(p.Path), withSuffix(p.Suffix), b.unpaired())
		case len(m.Exts) > 255:
			return shardify.Unsupported("--pair %s: files of %d types", p.Text, len(m.Exts))
		case len(m.Exts) > 1 && !image:
			var cures, types []string
			for _, ext := range m.Exts {
				_, kind, _ := strings.Cut(ext, ".")
				types = append(types, kind)
				cures = append(cures, fmt.Sprintf("%s=%s:%s.%s", p.Field, p.Path, p.Suffix, kind))
			}
			return shardify.Mismatch("--pair %s: files of the types %s; a field has one, or images of any type. Each may be a field: %s",
				p.Text, strings.Join(types, ", "), strings.Join(cures, ", "))
		}
		b.all = append(b.all, m)
	}
	slices.SortFunc(b.all, func(x, y member) int { return strings.Compare(x.Field, y.Field) })
	return nil
}

func withSuffix(suffix string) string {
	if suffix == "" {
		return ""
	}
	return fmt.Sprintf(" with %s at the end of its name", printable.Quote(suffix))
}

// unpaired shows where files are that no pair has.
func (b *builder) unpaired() string {
	if len(b.leftStrays) == 0 {
		return ""
	}
	return "; there is " + b.leftStrays[0].Name
}

// composed makes one form of all that a character may have.
var composed = sync.OnceValue(func() *chars.Form { return chars.NewForm(false, true) })

// nearly is the error about files of several pairs whose samples would be one if upper and lower
// case, or the Unicode forms of one character, were the same.
func (b *builder) nearly() error {
	const most = 16 // samples of one such name that are compared
	var found places
	alike := map[string][]int{}
	for s := range b.m.samples {
		name := b.names.Stem(int(b.m.first[s]))
		if !slices.Contains(b.m.row(s), none) || !utf8.Valid(name) {
			continue
		}
		form, err := composed().Apply(nil, name, 0)
		if err != nil {
			return err
		}
		fold := strings.ToLower(string(form))
		others := alike[fold]
		if k := slices.IndexFunc(others, func(o int) bool { return b.m.apart(o, s) }); k >= 0 {
			found.add(func() string {
				return b.path(int(b.m.first[others[k]])) + " and " + b.path(int(b.m.first[s]))
			})
		}
		if len(others) < most {
			alike[fold] = append(others, s)
		}
	}
	if found.count == 0 {
		return nil
	}
	return shardify.Mismatch("%s have names that differ in upper and lower case or in their Unicode form alone: the files of a sample need the same name", found.list("pair of files", "pairs of files"))
}

// row is the files of a sample.
func (m *matrix) row(s int) []uint32 { return m.files[s*m.members : (s+1)*m.members] }

// apart reports whether no field has files of both samples.
func (m *matrix) apart(s, o int) bool {
	for j, f := range m.row(s) {
		if f != none && m.row(o)[j] != none {
			return false
		}
	}
	return true
}
