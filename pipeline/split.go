package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/walk"
)

// parseSplit makes a split of the settings; nil without a split.
func (s *Settings) parseSplit() (x *splits.Rule, err error) {
	switch {
	case s.Split != "":
		x, err = splits.Parse(s.Split)
	case s.SplitFrom != "" && s.SplitFrom != splits.None:
		x, err = splits.ParseExisting(s.SplitFrom)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, shardify.Usage("%s", format.Reason(err))
	}
	x.Identity, x.Stratify, x.GroupBy = value.Trimmed(s.Identity), s.Stratify, s.GroupBy
	return x, nil
}

// splitFields are the fields of the inputs that decide the split; --set may have made others.
func (s *Settings) splitFields() (out []string) {
	if s.split == nil {
		return nil
	}
	var made []string
	for _, t := range s.Set {
		name, _, _ := strings.Cut(t, "=")
		name, _, _ = strings.Cut(name, ":")
		made = append(made, strings.TrimSpace(name))
	}
	for _, n := range s.split.Needs() {
		if !slices.Contains(made, n) {
			out = append(out, n)
		}
	}
	return out
}

// findSplits takes folders for splits that are named so, unless the user says what they are.
func (s *Settings) findSplits(src format.Input, o *readers.Opened) error {
	if s.SplitFrom != "" || o.More != nil || src.Sets || s.Options["labels"] == "folder" && !inSplits(o.Args.Table) {
		return nil
	}
	found := splits.Found(o.Args.Table)
	switch {
	case found == nil:
		return nil
	case s.split != nil:
		return shardify.Hint(shardify.Usage("--split %s: the folders %s are splits already", s.Split, strings.Join(found, ", ")),
			"keep them: "+s.command("--split-from dirs"),
			"mix all samples and share them: "+s.command("--split "+printable.Quote(s.Split)+" --split-from none"),
			"share those of one folder: name it as the INPUT")
	}
	split := &splits.Rule{Dirs: true}
	if err := s.checkWindow(split); err != nil {
		return shardify.Hint(err, "the folders "+strings.Join(found, ", ")+" are taken for splits; one set of all: --split-from none")
	}
	s.split = split
	return nil
}

// inSplits reports whether folders that may be splits hold folders.
func inSplits(t *format.Table) bool {
	for i := range t.Len() {
		name := t.NameBytes(i)
		if len(t.Roots) > 1 && bytes.IndexByte(name, '/') >= 0 || bytes.Count(name, []byte("/")) > 1 {
			return true
		}
	}
	return false
}

// command is a conversion of the inputs with other settings of splits.
func (s *Settings) command(settings string) string {
	words := []string{"shardify convert"}
	for _, in := range s.Inputs {
		words = append(words, printable.Quote(in))
	}
	return strings.Join(append(words, "-o", printable.Quote(s.Output), settings), " ")
}

// splitNote says that splits were found, or that the inputs are one of several.
func (s *Settings) splitNote(ctx context.Context, p *Prepared, src format.Input, t *format.Table) string {
	switch {
	case src.Sets || p.Plan.Pack.InParts():
	case s.split != nil && s.split.Dirs && s.SplitFrom == "":
		return "the folders are named like splits, and each becomes one; --split-from none makes one set of all"
	case s.split == nil && s.SplitFrom == "" && len(s.Inputs) == 1:
		in, all := storage.Clean(s.Inputs[0]), []string(nil)
		dir := filepath.Dir(in)
		if base := filepath.Base(in); walk.IsSplit(base) {
			all = readers.SplitFolders(ctx, dir)
		}
		if len(all) < 2 {
			return ""
		}
		note := fmt.Sprintf("%s is one of the splits in %s (%s): shardify convert %s -o SET makes a set of all", filepath.Base(in), printable.Quote(dir), strings.Join(all, ", "), printable.Quote(dir))
		if i := shardify.FieldIndex(p.Plan.Sample.Schema, "cls"); i >= 0 && p.Plan.Sample.Schema[i].Labels() != nil {
			note += ", with one number for each class; here the classes are numbered as they are in this one"
		}
		return note
	}
	return ""
}
