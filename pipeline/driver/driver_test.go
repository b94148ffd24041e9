package driver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/driver"
	_ "github.com/shardify/shardify/tests/race"
)

func TestCodes(t *testing.T) {
	text, err := os.ReadFile("testdata/codes.json")
	if err != nil {
		t.Fatal(err)
	}
	var codes map[string]string
	if err := json.Unmarshal(text, &codes); err != nil || len(codes) == 0 {
		t.Fatal(err)
	}
	for text, want := range codes {
		code, err := strconv.Atoi(text)
		if err != nil || driver.Again(code) != (want == "again") {
			t.Errorf("%s: want %s (%v)", text, want, err)
		}
	}
}

// engine does tasks in this process, but for what its script has: the codes with which the next ones end.
type engine struct {
	mu     sync.Mutex
	script []int
	words  [][]string
	now    int
	most   int
}

func (e *engine) run(ctx context.Context, words []string) driver.Outcome {
	e.mu.Lock()
	e.words = append(e.words, words)
	code := 0
	if len(e.script) > 0 {
		code, e.script = e.script[0], e.script[1:]
	}
	e.now++
	e.most = max(e.most, e.now)
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.now--
		e.mu.Unlock()
	}()
	if code != 0 {
		return driver.Outcome{Code: code, Text: "it said so"}
	}
	var err error
	if words[0] == "merge" {
		_, err = pipeline.Merge(ctx, words[1], pipeline.Settings{})
	} else {
		t := pipeline.Task{Stage: pipeline.StageAll}
		for i, w := range words {
			switch w {
			case "--task":
				t.Task, _ = strconv.Atoi(words[i+1])
			case "--tasks":
				t.Tasks, _ = strconv.Atoi(words[i+1])
			case "--stage":
				t.Stage = words[i+1]
			}
		}
		_, err = pipeline.Work(ctx, words[1], t, pipeline.Settings{Jobs: 1})
	}
	if err != nil {
		return driver.Outcome{Code: 1, Text: err.Error()}
	}
	return driver.Outcome{}
}

func (e *engine) memories() (out []string) {
	for _, w := range e.words {
		if i := slices.Index(w, "--memory"); i >= 0 {
			out = append(out, w[i+1])
		}
	}
	return out
}

func planned(t *testing.T, shuffle string) string {
	t.Helper()
	set := filepath.Join(t.TempDir(), "set")
	p, err := pipeline.Plan(t.Context(), pipeline.Settings{
		From: "synth", Output: set, Shuffle: shuffle, ShardSamples: 20, Jobs: 1, Options: map[string]string{"samples": "200", "schema": "y:i64"},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	return set
}

func job(set string, e *engine) *driver.Job {
	return &driver.Job{
		Folder: set, Tasks: 3, AtOnce: 2, Jobs: 1, Memory: 1 << 30, Run: e.run, Said: func(string, ...any) {},
		Rules: driver.Rules{Tries: 4, Backoff: time.Millisecond},
	}
}

// bytes is what readers see of a set.
func bytes(t *testing.T, set string) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(set, "[^.]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(text)
	}
	return out
}

func TestStagesInOrderAndTheSameBytes(t *testing.T) {
	for shuffle, want := range map[string]string{"none": "work", "global": "scatter gather"} {
		serial, set, e := planned(t, shuffle), planned(t, shuffle), &engine{}
		one := &engine{}
		j := job(serial, one)
		j.Tasks, j.AtOnce = 1, 1
		if _, err := j.Carry(t.Context()); err != nil {
			t.Fatal(err)
		}
		d, err := job(set, e).Carry(t.Context())
		if err != nil || d.Samples != 200 || d.Tasks != d.Tries || d.Lost != 0 || e.most > 2 {
			t.Errorf("%s: %+v, %d at once, %v", shuffle, d, e.most, err)
		}
		var stages []string
		for _, w := range e.words {
			name := w[0]
			if i := slices.Index(w, "--stage"); i >= 0 {
				name = w[i+1]
			}
			if !slices.Contains(stages, name) {
				stages = append(stages, name)
			}
		}
		if got := strings.Join(stages, " "); got != want+" merge" {
			t.Errorf("%s: stages %s, want %s merge", shuffle, got, want)
		}
		a, b := bytes(t, serial), bytes(t, set)
		if len(a) < 10 || fmt.Sprint(a) != fmt.Sprint(b) {
			t.Errorf("%s: the bytes differ from those of one task", shuffle)
		}
		again := &engine{}
		if d, err := job(set, again).Carry(t.Context()); err != nil || d.Samples != 200 || len(again.words) > 0 {
			t.Errorf("%s: a complete set is worked on: %v, %v", shuffle, again.words, err)
		}
	}
}

func TestLostTasksRunAgain(t *testing.T) {
	e := &engine{script: []int{75, 137, 143}}
	j := job(planned(t, "none"), e)
	j.Tasks, j.Double = 1, true
	d, err := j.Carry(t.Context())
	if err != nil || d.Tries != 5 || d.Lost != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	gib := func(n int) string { return strconv.Itoa(n << 30) }
	if got, want := e.memories(), []string{gib(1), gib(1), gib(2), gib(2)}; !slices.Equal(got, want) {
		t.Errorf("memory %v, want %v", got, want)
	}
}

func TestWhatFailsEndsTheRun(t *testing.T) {
	e := &engine{script: []int{0, 1}}
	j := job(planned(t, "none"), e)
	j.AtOnce = 1
	if _, err := j.Carry(t.Context()); err == nil || !strings.Contains(err.Error(), "ended with 1: it said so") || len(e.words) != 2 {
		t.Errorf("%v after %d tasks", err, len(e.words))
	}
	e.script = []int{137, 137, 137, 137}
	j.Tasks = 1
	if _, err := j.Carry(t.Context()); err == nil || !strings.Contains(err.Error(), "137") {
		t.Error(err)
	}
	e.script = nil
	if d, err := j.Carry(t.Context()); err != nil || d.Samples != 200 { // goes on
		t.Errorf("%+v, %v", d, err)
	}
}

func TestARunThatIsStoppedWaitsForItsProcesses(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("stopped")
	e := &engine{}
	j := job(planned(t, "none"), e)
	j.Run = func(ctx context.Context, words []string) driver.Outcome {
		cancel(why)
		<-ctx.Done()
		return driver.Outcome{Code: 75}
	}
	if _, err := j.Carry(ctx); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestNoPlan(t *testing.T) {
	if _, err := job(t.TempDir(), &engine{}).Carry(t.Context()); err == nil || !strings.Contains(err.Error(), "no plan") {
		t.Error(err)
	}
}

func TestProcess(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	name := filepath.Join(t.TempDir(), "program")
	text := "#!/bin/sh\ncase $1 in ok) exit 0;; kill) kill -9 $$;; json) echo '{\"type\":\"error\",\"message\":\"m\",\"hints\":[\"h\"],\"code\":1}'; exit 1;; wait) exec sleep 60;; *) echo words >&2; exit 2;; esac\n"
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	run := driver.Process(name)
	for word, want := range map[string]driver.Outcome{"ok": {}, "kill": {Code: 137}, "json": {Code: 1, Text: "m\nhint: h"}, "x": {Code: 2, Text: "words"}} {
		if got := run(t.Context(), []string{word}); got != want {
			t.Errorf("%s: %+v, want %+v", word, got, want)
		}
	}
	if got := driver.Process(name+"-absent")(t.Context(), nil); got.Code != 127 {
		t.Errorf("%+v", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if got := run(ctx, []string{"wait"}); got.Code != 143 && got.Code != 75 {
		t.Errorf("%+v", got)
	}
}
