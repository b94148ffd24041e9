package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/pipeline"
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
		{shardify.Hint(shardify.Usage("x"), "y"), 2},
		{fmt.Errorf("a: %w", convert.ErrIncomplete), 3},
		{fmt.Errorf("a: %w", convert.ErrStopped), 75},
		{fmt.Errorf("a: %w", errInterrupted), 130},
	} {
		if got := codeOf(c.err); got != c.want {
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
	if code := o.Report(ctx, "p", fmt.Errorf("read x: %w", context.Canceled)); code != CodeStopped || !strings.Contains(out.String(), "hint: what is published is kept") {
		t.Errorf("code %d: %s", code, &out)
	}
	if code := o.Report(ctx, "p", shardify.Corrupt(3, "bad")); code != codeFailed {
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
		{[]syscall.Signal{syscall.SIGINT}, 20 * time.Millisecond, codeInterrupted, errInterrupted},
		{[]syscall.Signal{syscall.SIGINT, syscall.SIGINT}, time.Hour, codeInterrupted, errInterrupted},
	} {
		if signal.Ignored(c.signals[0]) {
			t.Logf("%v is ignored here, as nohup and shells ask for", c.signals[0])
			continue
		}
		code := make(chan int, 9)
		ctx, stop := signals(context.Background(), c.patience, nil, func(n int) { code <- n; runtime.Goexit() })
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

// TestCommandLineWinsOverTheRecipe, which may also have flags that are not settings.
func TestCommandLineWinsOverTheRecipe(t *testing.T) {
	recipe := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(recipe, []byte("inputs: [a b, c]\nlimit: 5\ncolumns: [x, y_*]\nstem: last\nlabels: folder\nquiet: true\nwhere: [a > 1, b < 2]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var s pipeline.Settings
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	quiet := fs.Bool("quiet", false, "")
	f := AddSettings(fs, &s)
	if err := fs.Parse([]string{"--limit", "7", "--recipe", recipe, "--labels", "none", "--where", "c"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Complete(nil); err != nil {
		t.Fatal(err)
	}
	want := pipeline.Settings{Inputs: []string{"a b", "c"}, Limit: 7, Columns: []string{"x", "y_*"}, Where: []string{"c"}, Options: map[string]string{"stem": "last", "labels": "none"},
		OnError: "fail", GroupOrder: "auto", NullKeys: "fail", UnusedRows: "fail", Shuffle: "none", Sync: "shard"}
	if !reflect.DeepEqual(s, want) || !*quiet {
		t.Errorf("%+v, want %+v", s, want)
	}
	s = pipeline.Settings{}
	fs = pflag.NewFlagSet("", pflag.ContinueOnError)
	f = AddSettings(fs, &s)
	err := fs.Parse([]string{"--recipe", recipe})
	if err == nil {
		err = f.Complete([]string{"d"})
	}
	if err == nil || !strings.Contains(err.Error(), "r.yaml line 6: unknown key \"quiet\"") || strings.Join(s.Inputs, "") != "d" {
		t.Errorf("%v, inputs %q", err, s.Inputs)
	}
}

// TestFlagsOfFormatsAreOptions, one for all formats that declare it.
func TestFlagsOfFormatsAreOptions(t *testing.T) {
	both := format.Option{Name: "both", Kind: format.KindBool, Default: "false"}
	src := []format.Input{{Name: "a", Options: []format.Option{{Name: "stem", Kind: format.KindEnum, Default: "first", Values: []string{"first", "last"}}, both}}}
	sinks := []format.Output{{Name: "t", Options: []format.Option{both}}}
	given := map[string]string{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	AddFormatFlags(fs, src, sinks, given)
	if err := fs.Parse([]string{"--both", "--stem", "last"}); err != nil || len(given) != 2 || given["both"] != "true" || given["stem"] != "last" {
		t.Errorf("%v, %v", err, given)
	}
	if owners := fs.Lookup("both").Annotations[formatsOf]; strings.Join(owners, " ") != "a t" {
		t.Error(owners)
	}
}

// TestTheFolderToTrainOn is an address where the set has one.
func TestTheFolderToTrainOn(t *testing.T) {
	m := &index.Manifest{Splits: map[string]index.Split{"a": {}, "b": {Samples: 1}, "train": {Samples: 1}}}
	if got := trainFolder("s3://bucket/set", m); got != "s3://bucket/set/train" {
		t.Error(got)
	}
	if delete(m.Splits, "train"); trainFolder("set", m) != "set/b" {
		t.Error(trainFolder("set", m))
	}
}
