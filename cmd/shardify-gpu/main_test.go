package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/fakecuda"
	"github.com/shardify/shardify/tests/programs"
	"github.com/shardify/shardify/writers"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"shardify-gpu": main, "mkset": func() {
		if err := makeSet(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}})
}

// makeSet writes a data set of x f32[25], y i64 and a jagged field: mkset FOLDER
// SAMPLES.
func makeSet(dir, samples string) error {
	ctx := context.Background()
	opts, err := format.CheckOptions(synth.Format.Options, format.Options{"samples": samples, "schema": "x:f32[25],y:i64,hits:f32*"})
	if err != nil {
		return err
	}
	args := format.OpenArgs{Table: &format.Table{}, Options: opts}
	src, err := synth.Format.Open(ctx, args)
	if err != nil {
		return err
	}
	defer src.Close()
	sink, _ := writers.Lookup(index.FormatMmap)
	plan, err := convert.MakePlan(ctx, convert.Request{Input: "synth", Source: src, Args: args, Output: sink, ShardSamples: 500})
	if err != nil {
		return err
	}
	job := convert.Job{Plan: plan, Source: src, Sink: sink, Store: local.NewDir(dir, "none"), Pool: shardify.NewPool(64 << 20), Jobs: 1}
	_, err = job.Convert(ctx)
	return err
}

// TestScripts runs testdata/*.txtar; those on a device only in builds with the tag
// cuda, on the fake driver.
func TestScripts(t *testing.T) {
	lib := ""
	if withCUDA {
		var err error
		if lib, err = fakecuda.Build(fakecuda.Default()...); err != nil {
			t.Log("skipped: ", err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("GPULOAD_LIBCUDA", lib)
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "driver":
				return lib != "", nil
			case "cuda":
				return withCUDA, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// TestResultsThatNobodyGets: a full disk loses them, or no process reads them.
func TestResultsThatNobodyGets(t *testing.T) {
	full, broken := programs.LostStreams(t)
	set := filepath.Join(t.TempDir(), "set")
	if err := makeSet(set, "600"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--help"}, {"--version"}, {"man", t.TempDir()}, {"bench", set, "--epochs", "1", "--batch", "64"}} {
		for out, want := range map[*os.File]int{full: 1, broken: 141} {
			var said strings.Builder
			c := &exec.Cmd{Path: os.Args[0], Args: append([]string{"shardify-gpu"}, args...), Stdout: out, Stderr: &said}
			c.Run()
			if code := c.ProcessState.ExitCode(); code != want || strings.Contains(said.String(), "standard output: write /dev/stdout: no space left on device") != (want == 1) {
				t.Errorf("%v > %s: exit code %d: %s", args, out.Name(), code, said.String())
			}
		}
	}
}
