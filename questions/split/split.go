// Package split answers how samples are shared among several data sets: by shares, by their values, by splits that the inputs have
// already, or by folders that are named like splits.
package split

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
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/walk"
	"github.com/shardify/shardify/transform"
)

// parse makes a split of the settings; nil without a split.
func parse(s *settings.Settings) (x *splits.Rule, err error) {
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

// Question is that of splits.
var Question = ask.Question{Name: "split", Keys: []string{"split", "split-from", "identity", "stratify", "group-by"}, New: func() ask.Asked { return &split{} }, Extend: extend}

type split struct{ ask.Nothing }

// Check implements ask.Asked.
func (*split) Check(c *ask.Conversion) (err error) {
	c.Draft.Splits.Rule, err = parse(c.Settings)
	if x := c.Draft.Splits.Rule; x.Conditions() != nil {
		if err := conditions(x); err != nil {
			return err
		}
		c.Shape[transform.Split] = []string{c.Settings.Split}
	}
	c.Once = c.Once || c.Draft.Splits.Rule != nil
	return err
}

// Prepare implements ask.Asked. The fields are those that decide the split; --set may have made others.
func (*split) Prepare(_ context.Context, c *ask.Conversion) (out []string, err error) {
	x := c.Draft.Splits.Rule
	if x == nil {
		return nil, nil
	}
	c.Request.Splits, c.Request.Folders = x.Objects, x.Dirs
	var made []string
	for _, t := range c.Set {
		name, _, _ := strings.Cut(t, "=")
		name, _, _ = strings.Cut(name, ":")
		made = append(made, strings.TrimSpace(name))
	}
	for _, n := range x.Needs() {
		if !slices.Contains(made, n) {
			out = append(out, n)
		}
	}
	return out, nil
}

// Open implements ask.Asked.
func (*split) Open(ctx context.Context, c *ask.Conversion) (err error) {
	if err := find(c); err != nil {
		return err
	}
	if x := c.Draft.Splits.Rule; x != nil && x.Column != "" {
		return names(ctx, c, x)
	} else if x != nil && (x.Dirs || x.Objects) {
		for _, name := range c.Splits { // of a set, of which further inputs may lack some
			x.Parts = append(x.Parts, splits.Part{Name: name})
		}
	}
	if x := c.Draft.Splits.Rule; x != nil {
		if yes, err := listed(x); err != nil {
			return err
		} else if yes {
			return byLists(ctx, c, x)
		}
	}
	c.Draft.Splits.Rule, err = transform.AssignInputs(c.Draft.Splits.Rule, c.Opened.Source, c.Opened.Args.Table)
	return err
}

// Planned implements ask.Asked.
func (*split) Planned(ctx context.Context, c *ask.Conversion, p *plan.Plan, _ *format.Output) error {
	if text := note(ctx, c, p); text != "" {
		c.Note(text)
	}
	return nil
}

// find takes folders for splits that are named so, unless the user says what they are.
func find(c *ask.Conversion) error {
	folders := format.FoldersOf(c.Opened.Source, c.Opened.Args.Table)
	if c.SplitFrom != "" || c.Opened.More != nil || c.Input.Sets || c.Options["labels"] == "folder" && !inSplits(folders) {
		return nil
	}
	found := splits.Found(folders)
	switch {
	case found == nil:
		return nil
	case c.Draft.Splits.Rule != nil:
		return shardify.Hint(shardify.Usage("--split %s: the folders %s are splits already", c.Split, strings.Join(found, ", ")),
			"keep them: "+command(c.Settings, "--split-from dirs"),
			"mix all samples and share them: "+command(c.Settings, "--split "+printable.Quote(c.Split)+" --split-from none"),
			"share those of one folder: name it as the INPUT")
	}
	c.Draft.Splits.Rule = &splits.Rule{Dirs: true}
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
func command(s *settings.Settings, others string) string {
	words := []string{"shardify convert"}
	for _, in := range s.Inputs {
		words = append(words, printable.Quote(in))
	}
	return strings.Join(append(words, "-o", printable.Quote(s.Output), others), " ")
}

// note says that splits were found, or that the inputs are one of several.
func note(ctx context.Context, c *ask.Conversion, p *plan.Plan) string {
	switch {
	case c.Input.Sets || p.Pack.InParts():
	case c.Draft.Splits.Rule != nil && c.Draft.Splits.Rule.Dirs && c.SplitFrom == "":
		return "the folders are named like splits, and each becomes one; --split-from none makes one set of all"
	case c.Draft.Splits.Rule == nil && c.SplitFrom == "" && len(c.Inputs) == 1:
		in, all := storage.Clean(c.Inputs[0]), []string(nil)
		dir := filepath.Dir(in)
		if base := filepath.Base(in); walk.IsSplit(base) {
			all = readers.SplitFolders(ctx, dir)
		}
		if len(all) < 2 {
			return ""
		}
		note := fmt.Sprintf("%s is one of the splits in %s (%s): shardify convert %s -o SET makes a set of all", filepath.Base(in), printable.Quote(dir), strings.Join(all, ", "), printable.Quote(dir))
		if i := shardify.FieldIndex(p.Sample.Schema, "cls"); i >= 0 && p.Sample.Schema[i].Labels() != nil {
			note += ", with one number for each class; here the classes are numbered as they are in this one"
		}
		return note
	}
	return ""
}
