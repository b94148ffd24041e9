package tar

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// Rule names a form, name or damage in a tar from any tool that some loader reads wrongly.
type Rule string

// The rules, with the text that reports use.
const (
	rulePAX        Rule = "PAX header"
	ruleGNUName    Rule = "GNU long name"
	ruleSparse     Rule = "sparse member"
	rulePrefix     Rule = "name split into prefix and name"
	ruleBigSize    Rule = "size not in octal"
	ruleNoFile     Rule = "not a regular file"
	ruleBadByte    Rule = "name with an odd byte"
	RuleDotSlash   Rule = "name begins with ./"
	ruleOutside    Rule = "name leads out of the folder"
	ruleNoDot      Rule = "name without extension"
	ruleHidden     Rule = "hidden file"
	ruleReserved   Rule = "reserved name"
	RuleUpperCase  Rule = "upper case in the extension"
	ruleImageTrap  Rule = "extension of an odd image type"
	ruleDuplicate  Rule = "member twice in a sample"
	ruleScattered  Rule = "sample in several places"
	RuleOtherField Rule = "other fields than the first sample"
	ruleBadSum     Rule = "bad checksum"
	ruleBadHeader  Rule = "bad header"
	ruleTruncated  Rule = "truncated"
	ruleNoEnd      Rule = "no end blocks"
	ruleTrailing   Rule = "bytes after the end"
	ruleTooMany    Rule = "too many samples to compare"
)

var rules = map[Rule]struct {
	damage bool
	breaks string
}{
	rulePAX:        {false, "wids cuts names at 100 bytes and drops members left without a dot; DALI's index of before 2022 is wrong by 1024 bytes"},
	ruleGNUName:    {false, "wids cuts or drops the member; DALI's index points at the name"},
	ruleSparse:     {false, "wids skips the member; others were not seen to read it"},
	rulePrefix:     {false, "wids drops the prefix, so that the key changes"},
	ruleBigSize:    {false, "wids cannot read the size"},
	ruleNoFile:     {false, "every loader skips it"},
	ruleBadByte:    {false, "a space ends the name in DALI's index; readers fail at bytes that are not UTF-8, or replace them"},
	RuleDotSlash:   {false, "keys begin with ./ too, which no list of names has"},
	ruleOutside:    {false, "tar refuses to unpack it"},
	ruleNoDot:      {false, "webdataset, wids, Energon and Hugging Face datasets skip the member; DALI makes it a sample"},
	ruleHidden:     {false, "in a folder it becomes a sample of its own, whose key ends in a slash (wids: anywhere)"},
	ruleReserved:   {false, "webdataset and Energon skip names of the form __x__"},
	RuleUpperCase:  {false, "webdataset lowers it, wids and DALI do not, Hugging Face datasets fails"},
	ruleImageTrap:  {false, "Hugging Face datasets decodes it as an image or a sound"},
	ruleDuplicate:  {false, "webdataset stops with an error, wids makes two samples"},
	ruleScattered:  {false, "each place becomes a sample of its own; wids loses samples when member names repeat"},
	RuleOtherField: {false, "Hugging Face datasets fails, and batches cannot be stacked"},
	ruleBadSum:     {true, "readers stop here, most of them without an error"},
	ruleBadHeader:  {true, "readers stop here, most of them without an error"},
	ruleTruncated:  {true, "the last member is lost or short"},
	ruleNoEnd:      {true, "there is no way to see whether members are missing"},
	ruleTrailing:   {false, "readers stop at the end blocks"},
	ruleTooMany:    {false, "keys that come again further on are not found"},
}

// Breaks says which loader does what with such a tar.
func (r Rule) Breaks() string { return rules[r].breaks }

// Damage reports a rule about bytes that are wrong in every form of tar.
func (r Rule) Damage() bool { return rules[r].damage }

// Problem is one breach of a rule.
type Problem struct {
	Rule   Rule
	Offset int64  // of the header block, or of the place
	Member string // its name, if there is one
	Detail string
}

// String is one line: what, where, who stumbles.
func (p Problem) String() string {
	s := fmt.Sprintf("at byte %d", p.Offset)
	if p.Member != "" {
		s = fmt.Sprintf("%q %s", p.Member, s)
	}
	s += ": " + string(p.Rule)
	if p.Detail != "" {
		s += " (" + p.Detail + ")"
	}
	return s + ": " + p.Rule.Breaks()
}

// Counts is what a tar holds, as webdataset would see it.
type Counts struct {
	Members, Samples int64
	End              int64 // where the first end block begins, or where reading stopped
}

// Lint reads the headers of a tar from any tool and reports, in order, all that keeps a
// loader from reading it as every other does. Return false from report to stop. The error
// is of reading or of ctx; damage is reported. Memory is bounded, whatever the file says:
// by 4 million samples, 16 bytes each.
func Lint(ctx context.Context, r io.ReaderAt, size int64, report func(Problem) bool) (Counts, error) {
	l := linter{report: report}
	l.ext.reset()
	l.groups.seen = map[uint64]struct{}{}
	l.w.Reset(r, size, make([]byte, maxMeta+Block))
	for n := 0; !l.done; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return l.counts, ctx.Err()
		}
		if err := l.next(); err != nil {
			return l.counts, err
		}
	}
	l.endGroup()
	if l.zeros > 0 {
		if err := l.trailing(ctx); err != nil {
			return l.counts, err
		}
	}
	return l.counts, nil
}

// maxMeta bounds PAX records and GNU names.
const maxMeta = 256 << 10

type linter struct {
	w      Window
	report func(Problem) bool
	counts Counts
	at     int64 // of the next header
	zeros  int   // end blocks found
	ext    extensions
	groups groups
	done   bool // nothing more can be read, or
	quiet  bool // the caller has stopped
}

// found reports a problem.
func (l *linter) found(r Rule, at int64, member []byte, format string, args ...any) {
	if !l.quiet {
		l.quiet = !l.report(Problem{r, at, string(member), fmt.Sprintf(format, args...)})
		l.done = l.done || l.quiet
	}
}

// stop is found, and nothing after it can be read.
func (l *linter) stop(r Rule, at int64, member []byte, format string, args ...any) {
	l.found(r, at, member, format, args...)
	l.done = true
}

// next reads one header block and steps over its data.
func (l *linter) next() error {
	left := l.w.Size() - l.at
	l.counts.End = l.at
	if left == 0 {
		l.stop(ruleNoEnd, l.at, nil, "")
		return nil
	}
	if left < Block {
		l.stop(ruleTruncated, l.at, nil, "%d bytes of a block", left)
		return nil
	}
	b, err := l.w.Bytes(l.at, Block)
	if err != nil {
		return err
	}
	if bytes.Equal(b, zeros[:Block]) {
		l.zeros, l.done = 1, true
		return nil
	}
	h, problem := parseForeign(b)
	if problem.Rule != "" {
		l.stop(problem.Rule, l.at+problem.Offset, h.name, "%s", problem.Detail)
		return nil
	}
	return l.member(&h)
}

// member handles a header of any type.
func (l *linter) member(h *foreignHeader) error {
	data := l.at + Block
	if h.typ == 'S' && h.extended {
		var err error
		if data, err = l.sparseMap(data); err != nil || l.done {
			return err
		}
	}
	size := h.size
	switch h.typ {
	case 'x', 'g', 'L', 'K':
		if err := l.extension(h, data); err != nil || l.done {
			return err
		}
	default:
		if l.ext.size >= 0 {
			size = l.ext.size
		}
		if h.typ >= '1' && h.typ <= '6' { // links, devices, folders: no data
			size = 0
		}
		l.file(h, size)
	}
	if left := l.w.Size() - data; size > left {
		l.stop(ruleTruncated, l.at, h.name, "%d bytes of data, %d are there", size, left)
		return nil
	}
	end := data + size
	if l.at = end + Pad(end); l.at > l.w.Size() {
		l.at = l.w.Size()
		l.stop(ruleTruncated, end, h.name, "the last block is not whole")
	}
	return nil
}

// file judges the members of a name.
func (l *linter) file(h *foreignHeader, size int64) {
	at := l.at
	if l.ext.at >= 0 {
		at = l.ext.at
	}
	name := h.name
	switch {
	case l.ext.path != nil:
		name = l.ext.path
	case len(h.prefix) > 0:
		name = append(append(append([]byte(nil), h.prefix...), '/'), h.name...)
		l.found(rulePrefix, at, name, "")
	}
	if h.binary {
		l.found(ruleBigSize, at, name, "%d bytes", size)
	}
	if h.typ == 'S' || l.ext.sparse {
		l.found(ruleSparse, at, name, "")
	}
	l.ext.reset()
	l.counts.Members++
	switch h.typ {
	case '0', 0, '7', 'S':
		l.name(at, name)
	default:
		l.found(ruleNoFile, at, name, "type %q", h.typ)
	}
}

// trailing looks at what follows the first end block.
func (l *linter) trailing(ctx context.Context) error {
	at := l.at + Block
	if at == l.w.Size() {
		l.found(ruleNoEnd, at, nil, "one zero block, want two")
		return nil
	}
	const piece = 64 << 10
	for n := 0; at < l.w.Size(); n++ {
		if n&255 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b, err := l.w.Bytes(at, int(min(piece, l.w.Size()-at)))
		if err != nil {
			return err
		}
		for i, c := range b {
			if c != 0 {
				l.found(ruleTrailing, at+int64(i), nil, "")
				return nil
			}
		}
		at += int64(len(b))
	}
	return nil
}
