package index

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// TarRule names a form, name or damage in a tar of any making that some loader
// stumbles over.
type TarRule string

// The rules, with the text that reports use.
const (
	tarPAX        TarRule = "PAX header"
	tarGNUName    TarRule = "GNU long name"
	tarSparse     TarRule = "sparse member"
	tarPrefix     TarRule = "name split into prefix and name"
	tarBigSize    TarRule = "size not in octal"
	tarNoFile     TarRule = "not a regular file"
	tarBadByte    TarRule = "name with an odd byte"
	TarDotSlash   TarRule = "name begins with ./"
	tarOutside    TarRule = "name leads out of the folder"
	tarNoDot      TarRule = "name without extension"
	tarHidden     TarRule = "hidden file"
	tarReserved   TarRule = "reserved name"
	TarUpperCase  TarRule = "upper case in the extension"
	tarImageTrap  TarRule = "extension of an odd image type"
	tarDuplicate  TarRule = "member twice in a sample"
	tarScattered  TarRule = "sample in several places"
	TarOtherField TarRule = "other fields than the first sample"
	tarBadSum     TarRule = "bad checksum"
	tarBadHeader  TarRule = "bad header"
	tarTruncated  TarRule = "truncated"
	tarNoEnd      TarRule = "no end blocks"
	tarTrailing   TarRule = "bytes after the end"
	tarTooMany    TarRule = "too many samples to compare"
)

var tarRules = map[TarRule]struct {
	damage bool
	breaks string
}{
	tarPAX:        {false, "wids cuts names at 100 bytes and drops members left without a dot; DALI's index of before 2022 is wrong by 1024 bytes"},
	tarGNUName:    {false, "wids cuts or drops the member; DALI's index points at the name"},
	tarSparse:     {false, "wids skips the member; others were not seen to read it"},
	tarPrefix:     {false, "wids drops the prefix, so that the key changes"},
	tarBigSize:    {false, "wids cannot read the size"},
	tarNoFile:     {false, "every loader skips it"},
	tarBadByte:    {false, "a space ends the name in DALI's index; readers fail at bytes that are not UTF-8, or replace them"},
	TarDotSlash:   {false, "keys begin with ./ too, which no list of names has"},
	tarOutside:    {false, "tar refuses to unpack it"},
	tarNoDot:      {false, "webdataset, wids, Energon and Hugging Face datasets skip the member; DALI makes it a sample"},
	tarHidden:     {false, "in a folder it becomes a sample of its own, whose key ends in a slash (wids: anywhere)"},
	tarReserved:   {false, "webdataset and Energon skip names of the form __x__"},
	TarUpperCase:  {false, "webdataset lowers it, wids and DALI do not, Hugging Face datasets fails"},
	tarImageTrap:  {false, "Hugging Face datasets decodes it as an image or a sound"},
	tarDuplicate:  {false, "webdataset stops with an error, wids makes two samples"},
	tarScattered:  {false, "each place becomes a sample of its own; wids loses samples when member names repeat"},
	TarOtherField: {false, "Hugging Face datasets fails, and batches cannot be stacked"},
	tarBadSum:     {true, "readers stop here, most of them without an error"},
	tarBadHeader:  {true, "readers stop here, most of them without an error"},
	tarTruncated:  {true, "the last member is lost or short"},
	tarNoEnd:      {true, "nobody can tell whether members are missing"},
	tarTrailing:   {false, "readers stop at the end blocks"},
	tarTooMany:    {false, "keys that come again further on are not found"},
}

// Breaks says which loader does what with such a tar.
func (r TarRule) Breaks() string { return tarRules[r].breaks }

// Damage reports a rule about bytes that are wrong in every form of tar.
func (r TarRule) Damage() bool { return tarRules[r].damage }

// TarProblem is one breach of a rule.
type TarProblem struct {
	Rule   TarRule
	Offset int64  // of the header block, or of the place
	Member string // its name, if there is one
	Detail string
}

// String is one line: what, where, who stumbles.
func (p TarProblem) String() string {
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

// TarCounts is what a tar holds, as webdataset would see it.
type TarCounts struct {
	Members, Samples int64
	End              int64 // where the first end block begins, or where reading stopped
}

// LintTar reads the headers of a tar of any making and reports, in order, all
// that keeps a loader from reading it as every other does. Return false from
// report to stop. The error is of reading or of ctx; damage is reported. Memory
// is bounded, whatever the file says: by 4 million samples, 16 bytes each.
func LintTar(ctx context.Context, r io.ReaderAt, size int64, report func(TarProblem) bool) (TarCounts, error) {
	l := linter{report: report}
	l.ext.reset()
	l.groups.seen = map[uint64]struct{}{}
	l.w.Reset(r, size, make([]byte, maxTarMeta+TarBlock))
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

// maxTarMeta bounds PAX records and GNU names.
const maxTarMeta = 256 << 10

type linter struct {
	w      TarWindow
	report func(TarProblem) bool
	counts TarCounts
	at     int64 // of the next header
	zeros  int   // end blocks found
	ext    tarExt
	groups tarGroups
	done   bool // nothing more can be read, or
	quiet  bool // nobody wants to hear more
}

// found reports a problem.
func (l *linter) found(r TarRule, at int64, member []byte, format string, args ...any) {
	if !l.quiet {
		l.quiet = !l.report(TarProblem{r, at, string(member), fmt.Sprintf(format, args...)})
		l.done = l.done || l.quiet
	}
}

// stop is found, and nothing after it can be read.
func (l *linter) stop(r TarRule, at int64, member []byte, format string, args ...any) {
	l.found(r, at, member, format, args...)
	l.done = true
}

// next reads one header block and steps over its data.
func (l *linter) next() error {
	left := l.w.Size() - l.at
	l.counts.End = l.at
	if left == 0 {
		l.stop(tarNoEnd, l.at, nil, "")
		return nil
	}
	if left < TarBlock {
		l.stop(tarTruncated, l.at, nil, "%d bytes of a block", left)
		return nil
	}
	b, err := l.w.Bytes(l.at, TarBlock)
	if err != nil {
		return err
	}
	if bytes.Equal(b, zeros[:TarBlock]) {
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
	data := l.at + TarBlock
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
		l.stop(tarTruncated, l.at, h.name, "%d bytes of data, %d are there", size, left)
		return nil
	}
	end := data + size
	if l.at = end + TarPad(end); l.at > l.w.Size() {
		l.at = l.w.Size()
		l.stop(tarTruncated, end, h.name, "the last block is not whole")
	}
	return nil
}

// file judges what stands under a name.
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
		l.found(tarPrefix, at, name, "")
	}
	if h.binary {
		l.found(tarBigSize, at, name, "%d bytes", size)
	}
	if h.typ == 'S' || l.ext.sparse {
		l.found(tarSparse, at, name, "")
	}
	l.ext.reset()
	l.counts.Members++
	switch h.typ {
	case '0', 0, '7', 'S':
		l.name(at, name)
	default:
		l.found(tarNoFile, at, name, "type %q", h.typ)
	}
}

// trailing looks at what follows the first end block.
func (l *linter) trailing(ctx context.Context) error {
	at := l.at + TarBlock
	if at == l.w.Size() {
		l.found(tarNoEnd, at, nil, "one zero block, want two")
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
				l.found(tarTrailing, at+int64(i), nil, "")
				return nil
			}
		}
		at += int64(len(b))
	}
	return nil
}
