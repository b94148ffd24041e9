package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/storage/local"
	"github.com/spf13/pflag"
)

func TestExitCodesFollowTheCause(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{fmt.Errorf("a: %w", shardify.ErrCorrupt), 1},
		{Hint(Usage("x"), "y"), 2},
		{fmt.Errorf("a: %w", convert.ErrIncomplete), 3},
		{fmt.Errorf("a: %w", convert.ErrStopped), 75},
		{fmt.Errorf("a: %w", ErrInterrupted), 130},
	} {
		if got := Code(c.err); got != c.want {
			t.Errorf("%v: code %d, want %d", c.err, got, c.want)
		}
	}
}

// TestStopIsReportedAsSuch: whatever a cancelled read says, the cause counts; an
// error of another kind is not hidden by it.
func TestStopIsReportedAsSuch(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(convert.ErrStopped)
	var out bytes.Buffer
	o := &IO{Out: &out, Err: &out}
	if code := o.Report(ctx, "p", fmt.Errorf("read x: %w", context.Canceled)); code != CodeStopped || !strings.Contains(out.String(), "hint: what is published stays") {
		t.Errorf("code %d: %s", code, &out)
	}
	if code := o.Report(ctx, "p", shardify.Corrupt(3, "bad")); code != CodeFailed {
		t.Errorf("damage found while stopping: code %d", code)
	}
}

// TestStubbornWorkIsEnded: a request to stop ends the process in time even if the
// work does not heed its context; a second interrupt ends it at once.
func TestStubbornWorkIsEnded(t *testing.T) {
	for _, c := range []struct {
		signals  []syscall.Signal
		patience time.Duration
		want     int
		cause    error
	}{
		{[]syscall.Signal{syscall.SIGTERM}, 20 * time.Millisecond, CodeStopped, convert.ErrStopped},
		{[]syscall.Signal{syscall.SIGHUP}, 20 * time.Millisecond, CodeStopped, convert.ErrStopped},
		{[]syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM}, 20 * time.Millisecond, CodeStopped, ErrNotice},
		{[]syscall.Signal{syscall.SIGINT}, 20 * time.Millisecond, CodeInterrupted, ErrInterrupted},
		{[]syscall.Signal{syscall.SIGINT, syscall.SIGINT}, time.Hour, CodeInterrupted, ErrInterrupted},
	} {
		code := make(chan int, 9)
		ctx, stop := signals(context.Background(), c.patience, func(n int) { code <- n; runtime.Goexit() })
		for i, s := range c.signals {
			syscall.Kill(syscall.Getpid(), s)
			if i == 0 {
				<-ctx.Done()
			}
		}
		if context.Cause(ctx) != c.cause {
			t.Errorf("%v: cause %v", c.signals, context.Cause(ctx))
		}
		if got := <-code; got != c.want {
			t.Errorf("%v: exit %d, want %d", c.signals, got, c.want)
		}
		stop()
	}
}

func TestHintsKeepTheirOrder(t *testing.T) {
	err := Hint(fmt.Errorf("outer: %w", Hint(errors.New("inner"), "a", "b")), "c")
	if got := strings.Join(Hints(err), ""); got != "abc" {
		t.Errorf("hints %q", got)
	}
}

func TestDidYouMean(t *testing.T) {
	words := []string{"convert", "columns", "inspect", "jobs", "merge"}
	for word, want := range map[string]string{"convrt": "convert", "colums": "columns", "insp": "inspect", "job": "jobs", "margin": "", "xyz": "", "merg": "merge"} {
		if got := suggest.Word(word, words); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestQuotedWordsSurviveTheShell(t *testing.T) {
	for word, want := range map[string]string{"a-b_c.npz": "a-b_c.npz", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "*.npz": "'*.npz'", "$x": "'$x'", "é": "'é'", "a\x1b'é\n": `$'a\033\'\303\251\012'`} {
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 1281167: "1,281,167"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestRange(t *testing.T) {
	for text, want := range map[string]RangeValue{"3:9": {3, 9}, ":9": {0, 9}, "3:": {3, 0}, ":": {}} {
		var v RangeValue
		if err := v.Set(text); err != nil || v != want {
			t.Errorf("%s: %v %v", text, v, err)
		}
	}
	for _, text := range []string{"", "3", "a:b", "-1:3", "3:3", "9:3", ":0", "1:2:3"} {
		var v RangeValue
		if err := v.Set(text); err == nil {
			t.Errorf("%q was taken as %v", text, v)
		}
	}
}

func flags() (*pflag.FlagSet, *CountValue, *[]string) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	n := new(CountValue)
	fs.Var(n, "limit", "")
	return fs, n, fs.StringSlice("columns", nil, "")
}

func TestCommandLineWinsOverTheRecipe(t *testing.T) {
	r, err := ParseRecipe(strings.NewReader("inputs: [a b, c]\nlimit: 5\ncolumns: [x, y_*]\n"))
	if err != nil || len(r.Inputs) != 2 || r.Inputs[0] != "a b" {
		t.Fatalf("%v, inputs %q", err, r.Inputs)
	}
	fs, limit, columns := flags()
	fs.Parse([]string{"--limit", "7"})
	if err := r.Apply("r.yaml", fs); err != nil || *limit != 7 || strings.Join(*columns, " ") != "x y_*" {
		t.Errorf("%v: limit %v, columns %q", err, limit, *columns)
	}
}

func TestRecipeMistakesNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "line 1: the recipe is empty",
		"- a\n":                          "line 1: want lines",
		"limit: 1\nlimit: 2\n":           "line 2: key \"limit\" stands in line 1",
		"limit: 1\n\ncolumns: {a: b}\n":  "line 3: key \"columns\"",
		"limit: [1]\n":                   "line 1: key \"limit\": want one value",
		"limit:\n":                       "line 1: key \"limit\": want one value",
		"columns: [a, [b]]\n":            "line 1: key \"columns\": want a list",
		"limit: 1\ncolumns: [\n":         "line 2",
		"limit: 1\n---\nlimit: 2\n":      "more than one document",
		"columns: &x a\nlimit: *x\n":     "line 2: key \"limit\": want one value",
		"limmit: [1]\n":                  "line 1: unknown key \"limmit\"",
		"limit: 1\nlimmit: 2\n":          "r.yaml line 2: unknown key \"limmit\"",
		"limit: 1\nrecipe: other.yaml\n": "r.yaml line 2: unknown key \"recipe\"",
		"columns: x\nlimit: -3\n":        "r.yaml line 2: limit: \"-3\": want a whole number",
	} {
		r, err := ParseRecipe(strings.NewReader(text))
		if err == nil {
			fs, _, _ := flags()
			fs.String("recipe", "", "")
			err = r.Apply("r.yaml", fs)
		}
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, ErrUsage) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// FuzzRecipe: no text makes the parser panic or accept what is no setting.
func FuzzRecipe(f *testing.F) {
	f.Add("inputs: [a]\nlimit: 3\n")
	f.Add("a: &x [1]\nb: *x\n")
	f.Add("? [a]\n: b\n")
	f.Add("a: !!binary x\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRecipe(strings.NewReader(text))
		if (r == nil) == (err == nil) {
			t.Fatalf("%v and %v", r, err)
		}
	})
}

func TestOptionsGoToTheFormatThatHasThem(t *testing.T) {
	src := []shardify.SourceFormat{
		{Name: "a", Options: []shardify.Option{{Name: "stem", Kind: shardify.KindEnum, Default: "first", Values: []string{"first", "last"}}, {Name: "both", Kind: shardify.KindBool, Default: "false"}}},
		{Name: "b", Options: []shardify.Option{{Name: "zip", Kind: shardify.KindBool, Default: "false"}}},
	}
	sinks := []shardify.SinkFormat{{Name: "t", Options: []shardify.Option{{Name: "both", Kind: shardify.KindBool, Default: "false"}}}}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f := AddFormatFlags(fs, src, sinks)
	if err := fs.Parse([]string{"--both", "--stem", "last"}); err != nil {
		t.Fatal(err)
	}
	given := f.Given()
	if len(given) != 2 {
		t.Fatalf("given: %v", given)
	}
	if err := Belong(given, f.Owners(), &src[0], sinks[0]); err != nil {
		t.Error(err)
	}
	in, err := Pick(given, src[0].Options)
	if err != nil || in["stem"] != "last" || in["both"] != "true" {
		t.Errorf("input options %v, %v", in, err)
	}
	if out, err := Pick(given, sinks[0].Options); err != nil || out["both"] != "true" || len(out) != 1 {
		t.Errorf("output options %v, %v", out, err)
	}
	err = Belong(given, f.Owners(), &src[1], sinks[0])
	if err == nil || !strings.Contains(err.Error(), "--stem is an option of a; this reads b and writes t") || Code(err) != CodeUsage {
		t.Errorf("an option of another format: %v", err)
	}
	if _, err := Pick(shardify.Options{"stem": "middle"}, src[0].Options); err == nil || Code(err) != CodeUsage {
		t.Errorf("a wrong value: %v", err)
	}
}

func TestObjectsAreOneLineWithTheTypeFirst(t *testing.T) {
	var out bytes.Buffer
	o := &IO{Out: &out, JSON: true}
	o.Object("a", struct{}{})
	o.Object("b", struct {
		X string `json:"x"`
	}{"1\n2"})
	o.Result("not with --json")
	if want := "{\"type\":\"a\"}\n{\"type\":\"b\",\"x\":\"1\\n2\"}\n"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}

func TestOutputThatDoesNotFitNamesBothNumbers(t *testing.T) {
	prepared := func(free int64) *Prepared {
		return &Prepared{Output: "out", Store: local.NewDir(t.TempDir(), local.SyncNone), Room: room{"out", host.Space{Bytes: free, Inodes: -1}, nil}, Job: &convert.Job{},
			Plan: &convert.Plan{OutputBytes: 3 << 20, Table: &shardify.Table{}}}
	}
	err := (&Settings{}).space(prepared(1 << 20))
	if err == nil || err.Error() != "the output needs about 3 MiB and 32 inodes in out: out has 1 MiB free, 2 MiB too few" || len(Hints(err)) == 0 {
		t.Errorf("too little space: %v, hints %q", err, Hints(err))
	}
	for _, free := range []int64{-1, 3 << 20} {
		if err := (&Settings{}).space(prepared(free)); err != nil {
			t.Errorf("%d bytes free: %v", free, err)
		}
	}
	if err := (&Settings{MaxOutput: 1 << 20}).space(prepared(-1)); err == nil || !strings.Contains(err.Error(), "about 3 MiB, --max-output is 1 MiB") {
		t.Errorf("over --max-output: %v", err)
	}
}
