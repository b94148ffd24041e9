package readers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/walk"
	"github.com/shardify/shardify/storage/zips"
	"golang.org/x/sync/errgroup"
)

// ErrUndecided: the inputs do not show their format, or show several.
var ErrUndecided = errors.New("input format undecided")

// ErrSeveral: each input shows its format, and they differ. It is ErrUndecided, too.
var ErrSeveral = fmt.Errorf("%w: one conversion reads inputs of one format", ErrUndecided)

// sample bounds how many arguments are looked at, and how many names in folders.
const (
	sampleInputs = 64
	sampleNames  = 2000
	sampleDirs   = 64
)

// Choose finds the format of the inputs: the one asked for, or what the first
// bytes and the names say. why says it for people. They are in fs; nil means the files of
// this machine.
func Choose(ctx context.Context, fs storage.FS, asked string, inputs []string) (f format.Input, why string, err error) {
	if asked != "" {
		f, ok := Lookup(asked)
		if !ok {
			return f, "", fmt.Errorf("%w: no format %q, want one of %s", ErrUndecided, asked, strings.Join(Names(), ", "))
		}
		return f, "asked for", nil
	}
	at := place{ctx, filesOr(fs)}
	some := inputs[:min(len(inputs), sampleInputs)]
	type found struct {
		format.Input
		why string
		err error
	}
	all := make([]found, len(some))
	atOnce(len(some), func(i int) {
		if ctx.Err() == nil {
			all[i].Input, all[i].why, all[i].err = at.detect(some[i])
		}
	})
	if ctx.Err() != nil {
		return f, "", context.Cause(ctx)
	}
	for i := range all {
		switch x := &all[i]; {
		case x.err != nil:
			return f, "", at.explain(inputs, x.err)
		case i == 0:
			f, why = x.Input, x.why
		case x.Name != f.Name:
			return f, "", fmt.Errorf("%w: %s is %s, %s is %s", ErrSeveral, inputs[0], f.Name, inputs[i], x.Name)
		}
	}
	return f, why, nil
}

// waits is how many inputs are looked at together: those of other machines take long to answer.
const waits = 32

// atOnce calls do for 0..n-1, several at the same time.
func atOnce(n int, do func(i int)) {
	var g errgroup.Group
	g.SetLimit(waits)
	for i := range n {
		g.Go(func() error { do(i); return nil })
	}
	_ = g.Wait()
}

// ChooseListed finds the format by the first names of a list: that of the first name which
// shows it, else files. They are in fs, as for Choose.
func ChooseListed(ctx context.Context, fs storage.FS, names []string) (f format.Input, why string) {
	at := place{ctx, filesOr(fs)}
	for _, n := range names[:min(len(names), sampleInputs)] {
		if f, why, err := byName(path.Base(filepath.ToSlash(n))); err == nil {
			f, why = at.named(f, why+" in the list", n)
			return f, why
		}
	}
	i := slices.IndexFunc(Formats, func(f format.Input) bool { return f.Whole })
	return Formats[i], "list of files"
}

// explain prefers what listing the inputs has to say: that one is missing, is an
// address, or is of a kind that another tool converts.
func (at place) explain(inputs []string, err error) error {
	if errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrCorrupt) {
		return err // it is known what is there
	}
	if _, _, e := walk.Walk(at.ctx, walk.Request{FS: at.fs, Inputs: inputs, NoStat: true, Follow: true}); e != nil {
		return e
	}
	return err
}

// place is where inputs are looked at.
type place struct {
	ctx context.Context
	fs  storage.FS
}

func (at place) detect(in string) (format.Input, string, error) {
	in, _ = at.splitObject(in)
	if isRoot(path.Base(in)) {
		if f, root, ok := at.rooted(in); ok {
			return f, "folder with " + root, nil
		}
	}
	if _, own := storage.Path(at.fs, in); !own && !strings.ContainsAny(in, "*?[") {
		if _, named := container(path.Base(in)); named { // most likely a file: to ask first would be a request more
			if f, why, err := at.detectFile(in); err == nil {
				return f, why, nil
			}
		}
	}
	st, err := at.fs.Stat(at.ctx, in)
	switch {
	case err != nil && strings.ContainsAny(in, "*?["):
		base := path.Base(filepath.ToSlash(in))
		f, why, err := byName(base)
		if err != nil || shared(base) { // photos/*: what the pattern finds decides
			if path, ok := storage.Path(at.fs, in); ok {
				if found := local.Glob(path); len(found) > 0 {
					return at.detect(found[0])
				}
			}
		}
		return f, why, err
	case err != nil:
		return format.Input{}, "", err
	case st.Type == storage.Folder:
		return at.detectFolder(in)
	case st.Type != storage.Regular:
		return format.Input{}, "", &fs.PathError{Op: "open", Path: in, Err: errors.New("not a regular file")}
	}
	for _, f := range Formats {
		if s := standIn(&f, in); s != in && at.isFile(s) {
			return at.detectFile(s)
		}
	}
	return at.detectFile(in)
}

// standIn is the file that stands for one of the format; the name itself if none does.
func standIn(f *format.Input, name string) string {
	if f.StandIn != nil {
		if s := f.StandIn(path.Base(name)); s != "" {
			return storage.Join(storage.Dir(name), s)
		}
	}
	return name
}

// headBytes and tailBytes are the ends of a file, which any reader of it is likely to want.
const (
	headBytes = 4 << 10
	tailBytes = 8 << 10
)

// detectFile asks each format about the first bytes and the name.
func (at place) detectFile(name string) (f format.Input, why string, err error) {
	file, err := at.fs.Open(at.ctx, name)
	if err != nil {
		return f, "", err
	}
	defer file.Close()
	head := make([]byte, 512)
	storage.Announce(file, slices.Values([]storage.Range{{Len: headBytes}, {Off: file.Size() - tailBytes, Len: tailBytes}}))
	n, err := file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return f, "", err
	}
	base := filepath.Base(name)
	for _, f := range Formats {
		if f.Sniff != nil && !f.Asked && f.Sniff(head[:n], base) {
			return f, "first bytes and name of " + base, nil
		}
	}
	if base == index.ManifestName {
		dir := storage.Dir(name)
		if b, err := dataset.ReadManifest(at.ctx, at.fs, name); err == nil {
			if m, err := index.DecodeManifest(b); err == nil && m.Format != "" {
				return f, "", shardify.Unsupported("%s is a set of %s shards, which other programs read", dir, m.Format)
			}
		}
		return f, "", shardify.Corrupt(-1, "%s is not the manifest of a data set; shardify verify %s says more", name, printable.Quote(dir))
	}
	if dir := storage.Dir(name); strings.HasPrefix(base, "shard-") && at.isFile(storage.Join(dir, index.ManifestName)) {
		return f, "", shardify.Unsupported("%s is one shard of a data set: name its folder, %s", name, dir)
	}
	return f, "", fmt.Errorf("%w: neither the first bytes nor the name of %s are known", ErrUndecided, name)
}

// shared reports whether files of several formats have such a name.
func shared(base string) bool {
	n := 0
	for i := range Formats {
		if f := &Formats[i]; f.Sniff != nil && !f.Asked && !f.Sets && f.Sniff(nil, base) {
			n++
		}
	}
	return n > 1
}

// named returns the format f that the name of a file says, or the one that its first bytes say, where
// several have such names.
func (at place) named(f format.Input, why, name string) (format.Input, string) {
	if name != "" && shared(path.Base(filepath.ToSlash(name))) {
		if g, w, err := at.detectFile(name); err == nil && g.Name != f.Name {
			return g, w
		}
	}
	return f, why
}

func byName(base string) (f format.Input, why string, err error) {
	for _, f := range Formats {
		if f.Sniff != nil && !f.Asked && f.Sniff(nil, base) {
			return f, "name " + base, nil
		}
	}
	return f, "", fmt.Errorf("%w: the name %s is not known", ErrUndecided, base)
}

// detectFolder: a data set says what it is; else the names in it decide.
func (at place) detectFolder(dir string) (f format.Input, why string, err error) {
	m := storage.Join(dir, index.ManifestName)
	if _, err := at.fs.Stat(at.ctx, m); err == nil {
		f, _, err := at.detectFile(m)
		return f, "data set with " + index.ManifestName, err
	}
	if set := at.unfinished(dir); set != "" {
		return f, "", shardify.Unsupported("%s: the conversion is not finished: shardify status %s shows what is missing", dir, printable.Quote(set))
	}
	if f, root, ok := at.rooted(dir); ok {
		return f, "folder with " + root, nil
	}
	for _, f := range Formats {
		if f.Mark != "" && at.isFile(storage.Join(dir, f.Mark)) {
			return f, "folder with " + f.Mark, nil
		}
	}
	c, err := at.count(dir)
	if err == nil && c.files == 1 {
		err = at.indexAlone(dir)
	}
	if err != nil {
		return f, "", err
	}
	if f, why, err = c.decide(dir); err == nil && f.Whole {
		if g, ok := at.unnamed(&c); ok {
			return g, "first bytes of " + path.Base(filepath.ToSlash(c.mayBe[g.Name])), nil
		}
	}
	if err == nil {
		f, why = at.named(f, why, c.first[f.Name])
	}
	return f, why, err
}

// indexAlone refuses a folder that has the index of tars of another folder, which is no sample.
func (at place) indexAlone(dir string) error {
	if !at.isFile(storage.Join(dir, dataset.TarsIndexName)) {
		return nil
	}
	root, err := dataset.TarsOf(at.ctx, at.fs, dir)
	if err != nil || root == "" {
		return err
	}
	err = shardify.Unsupported("%s has the index of tars that are in %s", dir, root)
	return shardify.Hint(err, "name the folder of the tars in its place: "+printable.Quote(root))
}

// unnamed finds the format of a folder whose files all may be of one that their names do not say.
func (at place) unnamed(c *census) (format.Input, bool) {
	for _, f := range Formats {
		if f.Reads != nil && c.mayBe[f.Name] != "" && c.reads[f.Name]+c.stood[f.Name] == c.files && at.begins(c.mayBe[f.Name], f.Reads) {
			return f, true
		}
	}
	return format.Input{}, false
}

// isRoot reports whether a folder is one input, by its name.
func isRoot(base string) bool {
	k, ok := container(base)
	f, _ := Lookup(k)
	return ok && f.Roots != nil
}

// rooted finds the format of which a folder is one input, and the file that stands for it.
func (at place) rooted(dir string) (f format.Input, root string, ok bool) {
	for _, f := range Formats {
		for _, name := range f.Roots {
			if root := storage.Join(dir, name); at.isFile(root) && (f.Sniff(nil, name) || at.begins(root, f.Sniff)) {
				return f, name, true
			}
		}
	}
	return f, "", false
}

// begins reports whether a file begins as one of the format does.
func (at place) begins(name string, sniff func(head []byte, name string) bool) bool {
	f, err := at.fs.Open(at.ctx, name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	return (err == nil || err == io.EOF) && sniff(head[:n], path.Base(name))
}

// census is what kinds of files a folder holds, and which stems of containers have
// company of another kind.
type census struct {
	files int
	kinds map[string]int    // files of a format that keeps many samples in a file, by its name
	first map[string]string // the first of them
	reads map[string]int    // files that may be of a format, by its name; see format.Input.Reads
	mayBe map[string]string // the first of those
	stood map[string]int    // files for which one of those stands
	stems map[string]int    // 1 container, 2 other, 3 both
	seen  map[string]bool   // files that may stand for others
	pairs []pair            // files for which another may stand
	about []string          // files about the folder, as README.md is
	// beside counts the files of a format that are called metadata, as tables about images are.
	beside map[string]int
}

// pair is a file and the one that stands for it, if it is there.
type pair struct{ name, standIn, format string }

// note adds a file, now or when it is known which files are there.
func (c *census) note(name string) {
	for i := range Formats {
		f := &Formats[i]
		if f.StandIn == nil {
			continue
		}
		if s := standIn(f, name); s != name {
			c.pairs = append(c.pairs, pair{name, s, f.Name})
			return
		}
		if base := path.Base(name); f.Sniff(nil, base) || f.Reads != nil && f.Reads(nil, base) {
			c.seen[name] = true
		}
	}
	c.add(name, "")
}

// together adds the files for which others may stand.
func (c *census) together() {
	for _, p := range c.pairs {
		if f, _ := Lookup(p.format); !c.seen[p.standIn] {
			p.format = ""
		} else if !f.Sniff(nil, path.Base(p.standIn)) { // a name that does not say the format
			c.stood[p.format]++
			p.format = ""
		}
		c.add(p.name, p.format)
	}
}

// container finds the format that keeps many samples in a file of this name.
func container(base string) (name string, ok bool) {
	for i := range Formats {
		f := &Formats[i]
		if !f.Whole && !f.Sets && !f.Asked && f.Sniff != nil && f.Sniff(nil, base) {
			return f.Name, true
		}
	}
	return "", false
}

// count looks at the first names in a folder and those below it.
func (at place) count(dir string) (census, error) {
	c := census{kinds: map[string]int{}, reads: map[string]int{}, mayBe: map[string]string{}, stood: map[string]int{}, first: map[string]string{}, stems: map[string]int{}, seen: map[string]bool{}, beside: map[string]int{}}
	queue := []string{dir}
	for dirs := 0; len(queue) > 0 && dirs < sampleDirs && c.files < sampleNames; dirs++ {
		next := queue[0]
		queue = queue[1:]
		seen := 0
		for e, err := range at.fs.List(at.ctx, next) {
			if err != nil {
				return c, err
			}
			if seen++; seen > sampleNames {
				break
			}
			name := e.Name
			switch {
			case strings.HasPrefix(name, ".") || strings.EqualFold(name, "thumbs.db") || strings.EqualFold(name, "desktop.ini"):
			case e.Type != storage.Folder && walk.About(name):
				c.about = append(c.about, storage.Join(next, name))
			case e.Type == storage.Folder && isRoot(name):
				c.add(storage.Join(next, name), "")
			case e.Type == storage.Folder || (e.Type == storage.Link || zips.IsArchive(name)) && at.isDir(storage.Join(next, name)):
				queue = append(queue, storage.Join(next, name))
			default:
				c.note(storage.Join(next, name))
			}
		}
	}
	c.together()
	if c.files == 0 {
		for _, name := range c.about { // the folder has nothing else
			c.add(name, "")
		}
	}
	return c, nil
}

// SplitFolders are the folders in a folder of this machine that are named like splits.
func SplitFolders(ctx context.Context, dir string) (names []string) {
	if _, own := storage.Path(storages.Files, dir); !own {
		return nil // to ask would take long
	}
	for e, err := range storages.Files.List(ctx, dir) {
		if err == nil && e.Type != storage.Regular && walk.IsSplit(e.Name) {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

// unfinished is the unfinished data set that a folder is, or is a split of, or "". Its
// shards are not samples yet.
func (at place) unfinished(dir string) string {
	for _, set := range []string{dir, storage.Dir(storage.Clean(dir))} {
		if at.isDir(storage.Join(set, storage.Private)) && !at.isFile(storage.Join(set, index.ManifestName)) {
			return set
		}
	}
	return ""
}

func (at place) isFile(name string) bool {
	st, err := at.fs.Stat(at.ctx, name)
	return err == nil && st.Type == storage.Regular
}

func (at place) isDir(name string) bool {
	st, err := at.fs.Stat(at.ctx, name)
	return err == nil && st.Type == storage.Folder
}

// add counts a file; of is the format that it is known to be of.
func (c *census) add(name, of string) {
	c.files++
	for i := range Formats {
		if f := &Formats[i]; f.Reads != nil && f.Reads(nil, path.Base(filepath.ToSlash(name))) {
			if c.reads[f.Name]++; c.mayBe[f.Name] == "" {
				c.mayBe[f.Name] = name
			}
		}
	}
	kind := 2
	if of == "" {
		of, _ = container(filepath.Base(name))
	}
	if of != "" {
		if c.kinds[of]++; c.first[of] == "" {
			c.first[of] = name
		}
		kind = 1
	}
	dir, base := filepath.Split(name)
	stem, _, _ := strings.Cut(base, ".")
	c.stems[dir+stem] |= kind
	if of != "" && stem == "metadata" {
		c.beside[of]++
	}
}

// decide: containers of one format have that format if no other file has their stem. A
// container beside another file of the same stem is a member of a sample.
func (c *census) decide(dir string) (f format.Input, why string, err error) {
	pairs := 0
	for _, k := range c.stems {
		if k == 3 {
			pairs++
		}
	}
	kinds := slices.Sorted(maps.Keys(c.kinds))
	if len(kinds) > 1 || len(kinds) == 1 && c.kinds[kinds[0]]*2 < c.files { // tables about the others
		kinds = slices.DeleteFunc(kinds, func(k string) bool { f, _ := Lookup(k); return f.Companion || c.beside[k] == c.kinds[k] })
	}
	name := "files"
	switch {
	case c.files == 0:
		return f, "", fmt.Errorf("%w: no files in %s", ErrUndecided, dir)
	case pairs > 0:
		why = "files of one stem in " + filepath.Base(dir) + " are one sample"
	case len(kinds) > 1:
		return f, "", fmt.Errorf("%w: %s holds files of %s: choose with --from", ErrUndecided, dir, strings.Join(kinds, " and of "))
	case len(kinds) == 1 && c.kinds[kinds[0]]*2 >= c.files:
		name = kinds[0]
		why = fmt.Sprintf("%d of %d files looked at in %s are %s", c.kinds[name], c.files, filepath.Base(dir), name)
	case len(kinds) == 1:
		k := kinds[0]
		return f, "", fmt.Errorf("%w: %s holds %d files of %s and %d others: choose with --from %s or --from files", ErrUndecided, dir, c.kinds[k], k, c.files-c.kinds[k], k)
	default:
		why = "folder of files"
	}
	f, ok := Lookup(name)
	if !ok {
		return f, "", fmt.Errorf("%w: %s is for format %s, which this program does not have", ErrUndecided, dir, name)
	}
	return f, why, nil
}

// splitObject splits FILE:OBJECT, the way in which ROOT's users name a tree in a file. It
// does not split a name that exists as it is.
func (at place) splitObject(in string) (file, object string) {
	if !strings.Contains(in[storage.PathAt(in):], ":") {
		return in, ""
	}
	if _, err := at.fs.Stat(at.ctx, in); err == nil {
		return in, ""
	}
	for i := storage.PathAt(in); i < len(in); i++ {
		if in[i] != ':' || i == 0 {
			continue
		}
		file := in[:i]
		_, named := container(filepath.Base(file))
		if _, _, ok := at.rooted(file); ok || at.isFile(file) || named && strings.ContainsAny(file, "*?[") {
			return file, in[i+1:]
		}
	}
	return in, ""
}

// File is an input without the object that it names in a file.
func File(input string) string {
	file, _ := place{context.Background(), storages.Files}.splitObject(input)
	return file
}

// Stem is the name of an input without its folder, the object it names in a file, and
// the extension of a format that keeps many samples in a file.
func Stem(input string) string {
	file, _ := place{context.Background(), storages.Files}.splitObject(storage.Clean(input))
	base := filepath.Base(file)
	if _, ok := container(base); ok {
		base = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if strings.EqualFold(filepath.Ext(base), ".tar") || isRoot(base) { // also of a tar.gz
		base = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return base
}

// splitObjects does so for all inputs of a format with the option "object".
func splitObjects(ctx context.Context, f *format.Input, r *Request) error {
	if !slices.ContainsFunc(f.Options, func(o format.Option) bool { return o.Name == objectOption }) {
		return nil
	}
	object := r.Options[objectOption]
	inputs, objects := make([]string, len(r.Inputs)), make([]string, len(r.Inputs))
	atOnce(len(inputs), func(i int) { inputs[i], objects[i] = place{ctx, r.fs()}.splitObject(r.Inputs[i]) })
	for i, o := range objects {
		switch {
		case o == "":
		case object != "" && o != object:
			return shardify.Mismatch("%s names object %s, but %s is asked for too: one conversion reads one", r.Inputs[i], o, object)
		default:
			object = o
		}
	}
	if object != r.Options[objectOption] {
		r.Options = maps.Clone(r.Options)
		r.Options[objectOption] = object
	}
	r.Inputs = inputs
	return nil
}

// objectOption chooses what to read in a file that holds several things.
const objectOption = "object"
