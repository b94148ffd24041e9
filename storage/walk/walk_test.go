package walk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/local/dirfd"
	_ "github.com/shardify/shardify/tests/race"
)

// tree makes files below a new folder; a name that ends in / is a folder, one
// with -> a link.
func tree(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, n := range names {
		name, target, link := strings.Cut(n, "->")
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, p)
		case strings.HasSuffix(n, "/"):
			err = os.MkdirAll(p, 0o777)
		default:
			err = os.WriteFile(p, make([]byte, i), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(t *format.Table) []string {
	var s []string
	for i := range t.Len() {
		s = append(s, t.Name(i))
	}
	return s
}

func walk(t *testing.T, r Request) (*format.Table, map[string]int64) {
	t.Helper()
	table, left, err := Walk(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, l := range left {
		counts[l.Name] += l.Count
	}
	for i := range table.Len() {
		st, err := os.Stat(table.Path(i))
		if err != nil {
			t.Fatalf("the table's path does not lead to the file: %v", err)
		}
		if !r.NoStat && (table.Size(i) != st.Size() || table.ModTime(i) != st.ModTime().UnixNano()) {
			t.Fatalf("%s: table says %d bytes at %d", table.Path(i), table.Size(i), table.ModTime(i))
		}
		if r.NoStat && table.Size(i) != format.SizeUnknown {
			t.Fatalf("%s: size %d", table.Path(i), table.Size(i))
		}
	}
	return table, counts
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %q\nwant\n  %q", got, want)
	}
}

func TestOrderIsNaturalByComponent(t *testing.T) {
	dir := tree(t, "b/1.jpg", "a10/x", "a2/x", "a2.txt", "a2/10", "a2/9", "a02/x", "A/x", "a-/x", "z")
	got, _ := walk(t, Request{Inputs: []string{dir}})
	equal(t, names(got), []string{"A/x", "a-/x", "a02/x", "a2/9", "a2/10", "a2/x", "a2.txt", "a10/x", "b/1.jpg", "z"})
}

func TestNaturalIsAnOrderThatKeepsStemsTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func() []byte {
		b := make([]byte, rng.IntN(8))
		for i := range b {
			b[i] = "0012.ab\xff"[rng.IntN(8)]
		}
		return b
	}
	all := make([][]byte, 400)
	for i := range all {
		all[i] = random()
	}
	for _, a := range all {
		for _, b := range all[:100] {
			ab := natural(a, b)
			if (ab < 0) != (natural(b, a) > 0) || (ab == 0) != (string(a) == string(b)) {
				t.Fatalf("natural(%q, %q) = %d", a, b, ab)
			}
			for _, c := range all[:40] {
				if ab < 0 && natural(b, c) < 0 && natural(a, c) >= 0 {
					t.Fatalf("%q < %q < %q is not transitive", a, b, c)
				}
			}
		}
	}
	slices.SortFunc(all, natural)
	for _, stem := range all {
		prefix := string(stem) + "."
		var in []bool
		for _, n := range all {
			in = append(in, strings.HasPrefix(string(n), prefix))
		}
		for i, ends := 1, 0; i < len(in); i++ {
			if in[i-1] && !in[i] {
				ends++
			}
			if in[i] && ends > 0 {
				t.Fatalf("names that begin with %q do not stand together", prefix)
			}
		}
	}
	for _, pair := range [][2]string{{"img2", "img10"}, {"9", "10"}, {"a1b2", "a1b10"}, {"1.5", "1.10"}, {"x", "x0"}, {"0", "00"}, {"a", "b"}, {"99999999999999999999998", "99999999999999999999999"}} {
		if natural([]byte(pair[0]), []byte(pair[1])) >= 0 {
			t.Errorf("%q is not before %q", pair[0], pair[1])
		}
	}
}

func TestLitterIsLeftOutAndCounted(t *testing.T) {
	dir := tree(t, "a.jpg", ".hidden", ".git/config", "._a.jpg", ".DS_Store", "s/.DS_Store", "s/Thumbs.db", "s/.nfs0001", "s/b.jpg", "thumbs.txt")
	got, left := walk(t, Request{Inputs: []string{dir}})
	equal(t, names(got), []string{"a.jpg", "s/b.jpg", "thumbs.txt"})
	want := map[string]int64{".*": 2, "._*": 1, ".DS_Store": 2, "Thumbs.db": 1, ".nfs*": 1}
	if fmt.Sprint(left) != fmt.Sprint(want) {
		t.Errorf("left out %v, want %v", left, want)
	}
}

func TestKeepCountsByExtension(t *testing.T) {
	dir := tree(t, "a.npz", "B.NPZ", "c.txt", "d.TXT", "README", "x.000001", "x.000002", "l.npz->a.npz", "0.txt->c.txt")
	got, left := walk(t, Request{Inputs: []string{dir}, Keep: func(n string) bool { return strings.EqualFold(filepath.Ext(n), ".npz") }})
	equal(t, names(got), []string{"B.NPZ", "a.npz", "l.npz"})
	if want := map[string]int64{"*.txt": 3, "*": 3}; fmt.Sprint(left) != fmt.Sprint(want) {
		t.Errorf("left out %v, want %v", left, want)
	}
	_, _, err := Walk(context.Background(), Request{Inputs: []string{dir}, Keep: func(string) bool { return false }})
	if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "3 *.txt") {
		t.Errorf("nothing kept: %v", err)
	}
}

func TestLinksAreFollowedAndLoopsEnd(t *testing.T) {
	other := tree(t, "far/x.jpg")
	dir := tree(t, "a/b/x.jpg", "a/b/up->../..", "a/self->.", "one->a/b/x.jpg", "far->"+other, "p/q->../r", "r/s->../p", "r/y")
	got, left := walk(t, Request{Inputs: []string{dir}, Follow: true})
	equal(t, names(got), []string{"a/b/x.jpg", "far/far/x.jpg", "one", "p/q/y", "r/y"})
	if left["links"] != 4 { // up, self, p/q/s and r/s/q
		t.Errorf("%d loops", left["links"])
	}
}

func TestEveryBadInputIsListedInOneError(t *testing.T) {
	dir := tree(t, "ok.jpg", "dangling->nowhere", "loop->loop", "data.zarr/0", "sub/dangling->x")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(os.TempDir(), fmt.Sprintf("walk%d", os.Getpid())) // a socket's path must be short
	l, err := net.Listen("unix", short)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	os.Symlink(short, filepath.Join(dir, "socket"))
	os.Symlink("/dev/null", filepath.Join(dir, "device"))
	_, _, err = Walk(context.Background(), Request{Inputs: []string{
		dir, filepath.Join(dir, "none"), filepath.Join(dir, "pipe"), "gsiftp://eos/x.root", "s3a://b/k", "x.csv", filepath.Join(dir, "*.nope"), "[", ""}})
	var bad *BadInputs
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	if bad.Count != 15 || len(bad.First) != listed {
		t.Errorf("%d bad inputs, %d spelled out: %v", bad.Count, len(bad.First), err)
	}
	for _, want := range []string{"15 inputs", "dangling: link to nothing (not fetched yet?", "pipe: a pipe", "socket: a pipe", "device: a pipe", "shardify convert x.zarr", "and 7 more"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("kinds are lost: %v", err)
	}
}

func TestUnreadableFoldersAreListed(t *testing.T) {
	dir := tree(t, "a/x.jpg", "b/y.jpg", "c/d/z.jpg", "ok.jpg")
	os.Chmod(filepath.Dir(dir), 0o755)
	for _, d := range []string{"b", "c/d"} {
		os.Chmod(filepath.Join(dir, d), 0)
		defer os.Chmod(filepath.Join(dir, d), 0o777)
	}
	if os.Getuid() == 0 {
		if _, _, e := syscall.AllThreadsSyscall(syscall.SYS_SETFSUID, 65534, 0, 0); e != 0 {
			t.Skip("cannot give up root's rights, which needs CGO_ENABLED=0: ", e)
		}
		defer syscall.AllThreadsSyscall(syscall.SYS_SETFSUID, 0, 0, 0)
	}
	_, _, err := Walk(context.Background(), Request{Inputs: []string{dir}})
	var bad *BadInputs
	if !errors.As(err, &bad) || bad.Count != 2 || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "/c/d: permission denied") {
		t.Error(err)
	}
}

func TestForeignInputsNameTheirTool(t *testing.T) {
	dir := tree(t, "a.beton", "b.csv", "c.zarr/x", "d/x.beton", "e/x.tar.bz2", "e/x.nc")
	for in, want := range map[string]string{
		"xrootd://eospublic.cern.ch//a.root": "xrdcp", "s3a://bucket": "aws s3 sync", "ftp://x.org/a.npz": "wget", "gcs://b": "gcloud storage", "weird://x": "rclone",
		filepath.Join(dir, "a.beton"): "package ffcv", filepath.Join(dir, "c.zarr") + "/": "convert x.zarr",
		filepath.Join(dir, "d"): "package ffcv", filepath.Join(dir, "e", "x.tar.bz2"): "bunzip2",
	} {
		_, _, err := Walk(context.Background(), Request{Inputs: []string{in}, Keep: func(n string) bool { return strings.HasSuffix(n, ".npz") }})
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", in, err)
		}
	}
	got, _ := walk(t, Request{Inputs: []string{dir}, AnyKind: true})
	equal(t, names(got), []string{"a.beton", "b.csv", "c.zarr/x", "d/x.beton", "e/x.nc", "e/x.tar.bz2"})
}

func TestOddNames(t *testing.T) {
	long := strings.Repeat("n", 255)
	dir := tree(t, "\xff\xfe.jpg", "new\nline.jpg", long, "sp ace", "ünï", `back\slash`, "*")
	os.Link(filepath.Join(dir, long), filepath.Join(dir, "hard"))
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	const huge = 8 << 40
	if err := f.Truncate(huge); err != nil {
		t.Log("no sparse file of 8 TiB here:", err)
	}
	f.Close()
	got, _ := walk(t, Request{Inputs: []string{dir}})
	equal(t, names(got), []string{"*", `back\slash`, "hard", "new\nline.jpg", long, "sp ace", "sparse", "ünï", "\xff\xfe.jpg"})
	got, _ = walk(t, Request{Inputs: []string{filepath.Join(dir, "*")}})
	equal(t, names(got), []string{"*"}) // it exists, so it is not a pattern
}

func TestPathsBeyondTheKernelsLimit(t *testing.T) {
	dir := t.TempDir()
	part := strings.Repeat("d", 200)
	fd, err := syscall.Open(dir, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var fds []int
	depth := 25 // 5,000 bytes
	for range depth {
		if err := syscall.Mkdirat(fd, part, 0o777); err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
		if fd, err = syscall.Openat(fd, part, syscall.O_RDONLY, 0); err != nil {
			t.Fatal(err)
		}
	}
	file, err := syscall.Openat(fd, "x.jpg", syscall.O_CREAT|syscall.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	syscall.Close(file)
	for _, f := range append(fds, fd) {
		syscall.Close(f)
	}
	got, _, err := Walk(context.Background(), Request{Inputs: []string{dir}})
	if dirfd.Portable && errors.Is(err, syscall.ENAMETOOLONG) {
		if len(err.Error()) > 1000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		t.Skip("the portable way ends at the kernel's limit, with an error")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.Len() != 1 || len(got.Name(0)) != depth*201+5 || got.Size(0) != 0 {
		t.Errorf("%d files", got.Len())
	}
}

func TestPatterns(t *testing.T) {
	dir := tree(t, "d10/a.npz", "d2/a.npz", "d2/b.txt", "d2/.h.npz", "e/f/g/a.npz", "top.npz", "sub.npz/in")
	for pattern, want := range map[string][]string{
		"d*/*.npz":    {"d2/a.npz", "d10/a.npz"},
		"*.npz":       {"sub.npz/in", "top.npz"},
		"**/a.npz":    {"d2/a.npz", "d10/a.npz", "e/f/g/a.npz"},
		"e/**/*.npz":  {"f/g/a.npz"},
		"**/g/**":     {"e/f/g/a.npz"},
		"d[0-9]*":     {"d2/a.npz", "d2/b.txt", "d10/a.npz"},
		"e/?/g/a.npz": {"f/g/a.npz"},
		"**/**/b.txt": {"d2/b.txt"},
	} {
		got, _ := walk(t, Request{Inputs: []string{filepath.Join(dir, pattern)}})
		if !slices.Equal(names(got), want) {
			t.Errorf("%s: %q, want %q", pattern, names(got), want)
		}
	}
}

func TestFilesShareTheirDeepestFolder(t *testing.T) {
	dir := tree(t, "in/d2/a.npz", "in/d10/a.npz", "in/d2/b.npz", "other/x")
	t.Chdir(filepath.Join(dir, "in", "d2"))
	for _, c := range []struct{ inputs, roots, names []string }{
		{[]string{dir + "/in/d10/a.npz", dir + "/in/d2/a.npz"}, []string{dir + "/in"}, []string{"d10/a.npz", "d2/a.npz"}},
		{[]string{dir + "/in/d2/a.npz"}, []string{dir + "/in/d2"}, []string{"a.npz"}},
		{[]string{"b.npz", "./a.npz"}, []string{"."}, []string{"b.npz", "a.npz"}},
		{[]string{"b.npz", "../d10/a.npz"}, []string{".", "../d10"}, []string{"b.npz", "a.npz"}},
		{[]string{"../d10/a.npz", dir + "/other", "../d2/b.npz"}, []string{"..", dir + "/other"}, []string{"d10/a.npz", "x", "d2/b.npz"}},
		{[]string{"/etc/passwd", dir + "/other/x"}, []string{"/"}, []string{"etc/passwd", strings.TrimPrefix(dir, "/") + "/other/x"}},
	} {
		got, _ := walk(t, Request{Inputs: c.inputs})
		slices.Sort(got.Roots)
		slices.Sort(c.roots)
		equal(t, got.Roots, c.roots)
		equal(t, names(got), c.names)
	}
}

func TestInputsGivenTwiceAreRefused(t *testing.T) {
	dir := tree(t, "a/x", "a/b/y", "ab/z")
	t.Chdir(dir)
	for _, in := range [][]string{{"a", "./a"}, {"a", "a/b"}, {"a/b", "a"}, {"a/x", "a"}, {"a/x", "a/x"}, {"a/*", "a"}, {"a", "a/b/*"}, {".", "ab/z"}} {
		if _, _, err := Walk(context.Background(), Request{Inputs: in}); err == nil || !strings.Contains(err.Error(), "given twice") {
			t.Errorf("%q: %v", in, err)
		}
	}
	for _, in := range [][]string{{"a", "ab"}, {"a/x", "a/b"}, {"a/b/*", "a/x"}, {"a/x*", "a/b"}} {
		if _, _, err := Walk(context.Background(), Request{Inputs: in}); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestFilesFrom(t *testing.T) {
	dir := tree(t, "b/1.jpg", "b/2.jpg", "a.jpg", ".h.jpg", "b/.DS_Store", "new\nline.jpg")
	for name, c := range map[string]struct {
		list  string
		names []string
	}{
		"lines":        {"b/2.jpg\n./a.jpg\n\nb/../b/1.jpg\n", []string{"b/2.jpg", "a.jpg", "b/1.jpg"}},
		"no last end":  {"a.jpg", []string{"a.jpg"}},
		"zero bytes":   {"b/2.jpg\x00new\nline.jpg\x00", []string{"b/2.jpg", "new\nline.jpg"}},
		"absolute":     {dir + "/b/1.jpg\n/etc/passwd\n", []string{"b/1.jpg", "etc/passwd"}},
		"litter":       {".h.jpg\na.jpg\nb/.DS_Store\n", []string{"a.jpg"}},
		"many batches": {strings.Repeat("a.jpg\nb/1.jpg\n", listBatch), slices.Repeat([]string{"a.jpg", "b/1.jpg"}, listBatch)},
	} {
		got, _ := walk(t, Request{FilesFrom: strings.NewReader(c.list), Base: dir})
		if !slices.Equal(names(got), c.names) {
			t.Errorf("%s: %.200q", name, names(got))
		}
		got, _ = walk(t, Request{FilesFrom: strings.NewReader(c.list), Base: dir, NoStat: true})
		if !slices.Equal(names(got), c.names) {
			t.Errorf("%s without stat: %.200q", name, names(got))
		}
	}
	for list, want := range map[string]string{
		"b\n":                                 "find -type f",
		"../x\n":                              "leads out",
		"none\n":                              "no such file",
		"s3a://x\n":                           "aws s3",
		"a.jpg\r\n":                           `a.jpg\r`,
		"":                                    ErrNone.Error(),
		"a.jpg\x00none\n":                     `none\n`,
		strings.Repeat("x", nameMax+1) + "\n": "not a list of names",
	} {
		if _, _, err := Walk(context.Background(), Request{FilesFrom: strings.NewReader(list), Base: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", list, err)
		}
	}
	fail := io.MultiReader(strings.NewReader("a.jpg\n"), failing{})
	if _, _, err := Walk(context.Background(), Request{FilesFrom: fail, Base: dir}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a list that breaks off: %v", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestSameTableWhateverTheJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var list []string
	for i := range 3000 {
		list = append(list, fmt.Sprintf("%d/%d/%d.%s", rng.IntN(12), rng.IntN(7), i, []string{"jpg", "json", "txt"}[rng.IntN(3)]))
	}
	list = append(list, "3/x->none", "5/y->none", "1/l->../2")
	dir := tree(t, list...)
	big := filepath.Join(dir, "0", "big")
	os.Mkdir(big, 0o777)
	for i := range 2000 {
		os.WriteFile(filepath.Join(big, fmt.Sprint(i)), make([]byte, i%7), 0o666)
	}
	keep := func(n string) bool { return !strings.HasSuffix(n, ".txt") }
	var want string
	for _, bad := range []bool{true, false} {
		if !bad {
			os.Remove(filepath.Join(dir, "3/x"))
			os.Remove(filepath.Join(dir, "5/y"))
		}
		for i, jobs := range []int{1, 2, 7, 64} {
			table, left, err := Walk(context.Background(), Request{Inputs: []string{dir}, Keep: keep, Jobs: jobs})
			got := fmt.Sprint(left, err)
			if table != nil {
				got += fmt.Sprint(names(table), table.Bytes())
			}
			if bad == (err == nil) {
				t.Fatalf("jobs %d: %v", jobs, err)
			}
			if i == 0 {
				want = got
			} else if got != want {
				t.Errorf("jobs %d differ from jobs 1", jobs)
			}
		}
	}
}

func TestCancelEndsTheWalk(t *testing.T) {
	dir := tree(t, "a/b/c/d", "e/f/g")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Walk(ctx, Request{Inputs: []string{dir}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzFilesFrom(f *testing.F) {
	for _, s := range []string{"a\nb/c\n", "a\x00b\nc\x00", "/x/../y\n./z\n..\n", "s3://b\n.h\n/\n", strings.Repeat("x", nameMax)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		table, _, err := Walk(context.Background(), Request{FilesFrom: bytes.NewReader(list), NoStat: true})
		if err != nil {
			return
		}
		for i := range table.Len() {
			n := table.Name(i)
			if n == "" || n == ".." || strings.HasPrefix(n, "../") || strings.HasPrefix(n, "/") || strings.IndexByte(n, 0) >= 0 {
				t.Fatalf("name %q below %q", n, table.Roots[table.Root(i)])
			}
		}
	})
}

// TestFoldersThatAreOneInput: the first of the files that make a folder one represents it, and
// nothing below it is listed.
func TestFoldersThatAreOneInput(t *testing.T) {
	dir := tree(t, "a.zarr/.zgroup", "a.zarr/zarr.json", "a.zarr/x/zarr.json", "a.zarr/x/c/0", "deep/b/.zarray", "deep/b/0.0", "deep/c.txt")
	r := Request{Roots: []string{"zarr.json", ".zarray", ".zgroup"}, Keep: func(base string) bool { return base != "c.txt" }}
	for _, c := range []struct {
		inputs []string
		want   []string
	}{
		{[]string{dir}, []string{"a.zarr/zarr.json", "deep/b/.zarray"}},
		{[]string{filepath.Join(dir, "a.zarr")}, []string{"a.zarr/zarr.json"}},
		{[]string{filepath.Join(dir, "a.zarr") + "/", filepath.Join(dir, "deep", "b")}, []string{"a.zarr/zarr.json", "deep/b/.zarray"}},
		{[]string{filepath.Join(dir, "*.zarr")}, []string{"a.zarr/zarr.json"}},
	} {
		r.Inputs = c.inputs
		got, _, err := Walk(t.Context(), r)
		if err != nil {
			t.Fatal(c.inputs, err)
		}
		equal(t, names(got), c.want)
		if got.Size(0) < 0 {
			t.Errorf("%q: size %d", c.inputs, got.Size(0))
		}
	}
	r.Inputs = []string{filepath.Join(dir, "a.zarr"), filepath.Join(dir, "a.zarr", "x")}
	if _, _, err := Walk(t.Context(), r); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("a folder in one that is an input: %v", err)
	}
}
