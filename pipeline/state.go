package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers"
)

// compare compares the plan with the state of the output folder.
func (p *Prepared) compare(fresh bool) error {
	if err := isFolder(p.Output); err != nil {
		return err
	}
	old, err := plan.Load(p.Store)
	damaged := errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err := p.foreign()
		if f, e := p.Store.Open(plan.FileName); err != nil && e == nil {
			f.Close()
			return p.compare(fresh) // another process began meanwhile
		}
		if err == nil || !p.remains() {
			return err
		}
		if p.Remains = true; fresh {
			p.replace = func() error { return p.clear(nil) }
		}
		return nil
	case err != nil && !damaged:
		return err
	case fresh:
		p.replace = func() error { return p.clear(old) }
		return nil
	case err != nil:
		return shardify.Hint(err, "the plan in "+printable.Quote(p.Output)+" cannot be read; --fresh removes that conversion and starts again")
	case old.Digest() != p.Plan.Digest():
		return shardify.Hint(&differs{p.Output, &plan.Conflict{Diff: plan.Diff(old, p.Plan)}}, "choose another folder: -o "+printable.Quote(strings.TrimRight(p.Output, "/")+"-2"),
			"or replace the conversion there: the same command with --fresh")
	}
	p.State = StateResume
	changed, err := index.Changed(p.Store)
	switch {
	case hasManifest(p.Store):
		p.State = StateComplete
	case err != nil:
		return err
	case changed:
		err := fmt.Errorf("%s has had versions, and its %s is gone: another convert would make the first version again: %w", p.Output, index.ManifestName, shardify.ErrExists)
		return shardify.Hint(err, "take "+index.ManifestName+" from a copy of the set, or start again without the versions: the same command with --fresh")
	}
	p.before = old
	return nil
}

// touched refuses to go on with inputs that were modified since the conversion started.
func touched(old, now *plan.Plan) error {
	list, err := plan.Touched(old, now)
	if err != nil || list == nil {
		return err
	}
	_, planned, plannedTime, err := plan.FileAt(old, list[0])
	if err != nil {
		return err
	}
	path, size, at, err := plan.FileAt(now, list[0])
	if err != nil {
		return err
	}
	err = plan.Unchanged(storage.Stamp{Size: size, ModTime: at}, planned, plannedTime, false)
	if n := int64(len(list)); n > 1 {
		err = fmt.Errorf("%w (the first of %s)", err, printable.Of(n, "input"))
	}
	return shardify.Annotate(err, "compare", path, "")
}

// isFolder refuses an output that is there and no folder.
func isFolder(output string) error {
	st, err := storages.Files.Stat(context.Background(), output)
	if err == nil && st.Type != storage.Folder {
		return fmt.Errorf("output %s exists and is not a folder: %w", output, shardify.ErrExists)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// differs shows a Conflict as a table.
type differs struct {
	output   string
	conflict *plan.Conflict
}

func (e *differs) Error() string {
	return e.output + ": the folder holds another conversion: " + shardify.ErrExists.Error()
}

func (e *differs) Unwrap() error { return e.conflict }

// Details is the table: what differs, as it is there and as it is now.
func (e *differs) Details() []string {
	rows := [][3]string{{"", "there", "now"}}
	for _, d := range e.conflict.Diff {
		what, values, _ := strings.Cut(d, ": ")
		there, now, ok := strings.Cut(values, " / ")
		if !ok {
			rows = append(rows, [3]string{d})
			continue
		}
		rows = append(rows, [3]string{what, cmp.Or(there, "-"), cmp.Or(now, "-")})
	}
	var wide [2]int
	for _, r := range rows {
		if r[1] != "" {
			wide[0], wide[1] = max(wide[0], len(r[0])), max(wide[1], len(r[1]))
		}
	}
	var out []string
	for _, r := range rows {
		out = append(out, strings.TrimRight(fmt.Sprintf("%-*s  %-*s  %s", wide[0], r[0], wide[1], r[1], r[2]), " "))
	}
	return out
}

// Clear removes what earlier runs left: temporary files of dead processes and,
// where it was asked for, the conversion that gives way to this one.
func (p *Prepared) Clear() error {
	if x, ok := storage.As[storage.Maker](p.Store); ok {
		if p.Local != "" {
			if err := x.SetScratch(p.Local); err != nil {
				return err
			}
		}
		if err := x.Clean(); err != nil {
			return err
		}
	}
	if p.replace == nil {
		return nil
	}
	return p.replace()
}

// foreign refuses a folder that holds anything and no plan of ours.
func (p *Prepared) foreign() error {
	for f, err := range p.Store.List("") {
		if err != nil {
			return err
		}
		name, _, _ := strings.Cut(f.Name, "/")
		if name == storage.Private { // an earlier run ended before its plan was there
			continue
		}
		err := fmt.Errorf("%s is not empty and has no conversion of shardify in it (%s exists): %w", p.Output, name, shardify.ErrExists)
		return shardify.Hint(err, "nothing is ever overwritten: choose a new folder, or empty this one yourself")
	}
	return nil
}

// remains reports whether a folder without a plan holds only files of this conversion: it was
// removed while the conversion ran, which then went on for a moment. It goes on now; every file
// with the name of a shard is compared with that shard.
func (p *Prepared) remains() bool {
	for f, err := range p.Store.List("") {
		if err != nil || !plan.Makes(p.Plan, f.Name, &p.Job.Sink) {
			return false
		}
	}
	return true
}

// removed adds to an error that the output folder is gone, or what it was made from.
func (p *Prepared) removed(err error) error {
	switch b, e := p.Store.Open(plan.FileName); {
	case e == nil:
		b.Close()
		if p.Remains && errors.Is(err, shardify.ErrExists) {
			return shardify.Hint(err, "the folder held shards without the plan that they were made by; the same command with --fresh removes them")
		}
	case errors.Is(e, fs.ErrNotExist) && !errors.Is(err, context.Canceled):
		return shardify.Hint(err, "the folder "+printable.Quote(p.Output)+" was removed meanwhile, or its plan was; the same command starts again")
	}
	return err
}

// clear removes the files of the conversion in the output folder, and folders that are empty then.
// A plan that cannot be read, or is of a format that this program lacks, still proves by its
// presence that the folder is ours.
func (p *Prepared) clear(old *plan.Plan) error {
	if old != nil {
		if f, ok := writers.Lookup(old.Out.Format); ok {
			return p.clearOf(old, &f)
		}
	}
	for i := range writers.Formats {
		f := &writers.Formats[i]
		if err := p.clearOf(&plan.Plan{Out: plan.Output{Ext: f.Ext}}, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *Prepared) clearOf(old *plan.Plan, f *format.Output) error {
	folders, err := plan.Clear(old, p.Store, f)
	for _, dir := range folders {
		storage.RemoveFolder(p.Store, dir)
	}
	return err
}

// hasManifest reports whether the folder has a manifest.
func hasManifest(s storage.Store) bool {
	b, err := s.Open(index.ManifestName)
	if err != nil {
		return false
	}
	b.Close()
	return true
}

func (p *Prepared) manifest(prefix string) (*index.Manifest, error) {
	b, err := p.Store.Open(prefix + index.ManifestName)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	text := make([]byte, b.Size())
	if n, err := b.ReadAt(text, 0); n < len(text) {
		return nil, err
	}
	return index.DecodeManifest(text)
}

// complete refuses a set that is not complete any more: shards that the manifest names
// are gone, or have another size.
func (p *Prepared) complete(m *index.Manifest) error {
	if err := p.whole("", m); err != nil {
		return err
	}
	for split := range m.Splits {
		s, err := p.manifest(split + "/")
		if err == nil {
			err = p.whole(split+"/", s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Prepared) whole(prefix string, m *index.Manifest) error {
	for _, s := range m.Shards {
		name := prefix + s.Name
		size, err := storage.Size(p.Store, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return shardify.Annotate(dataset.Missing(s.Bytes), "read", name, "")
		case err != nil:
			return err
		case size != s.Bytes:
			return shardify.Annotate(shardify.Corrupt(-1, "the manifest says %d bytes, the file has %d", s.Bytes, size), "read", name, "")
		}
	}
	return nil
}
