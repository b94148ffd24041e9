package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/storage"
)

// failure is an error as the caller gets it.
type failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Object  string `json:"object,omitempty"`
	Field   string `json:"field,omitempty"`
	Sample  int64  `json:"sample"` // -1 is unknown, as of Offset
	Offset  int64  `json:"offset"`
	// Hints say what to do next, in the words of Python.
	Hints []string `json:"hints,omitempty"`
	// Ways are the settings of convert to choose from.
	Ways []way `json:"ways,omitempty"`
}

// way has settings by the names of keywords, and what they make; or an input in place of another.
type way struct {
	Makes string            `json:"makes"`
	Set   map[string]string `json:"set"`
	Of    string            `json:"of,omitempty"`
	Input string            `json:"input,omitempty"`
	// Without is a keyword that is left out.
	Without string `json:"without,omitempty"`
}

func waysOf(err error) (ways []way) {
	var found []format.Way
	if d, ok := errors.AsType[*format.Ambiguous](err); ok {
		found = d.Ways
	} else if c, ok := errors.AsType[*format.Cured](err); ok {
		found = c.Ways
	}
	for i := range found {
		w := way{Makes: found[i].Makes, Set: map[string]string{}}
		for name, v := range found[i].Set() {
			w.Set[keyword(name)] = v
		}
		if found[i].Without != "" {
			w.Without = keyword(found[i].Without)
		}
		ways = append(ways, w)
	}
	if s, ok := errors.AsType[*dataset.SplitSet](err); ok {
		for _, name := range s.Names {
			ways = append(ways, way{Makes: name, Set: map[string]string{}, Of: s.Folder, Input: storage.Join(s.Folder, name)})
		}
	}
	return ways
}

// kinds are the decisions that callers make. The first that fits counts.
var kinds = []struct {
	err  error
	kind string
}{
	{shardify.ErrCorrupt, "corrupt"},
	{shardify.ErrUnsupported, "unsupported"},
	{shardify.ErrSchema, "schema"},
	{shardify.ErrExists, "exists"},
	{shardify.ErrChanged, "changed"},
	{shardify.ErrUsage, "usage"},
	{convert.ErrStopped, "stopped"},
	{gpuload.ErrFingerprint, "state"},
	{gpuload.ErrOrder, "state"},
	{gpuload.ErrState, "state"},
	{gpuload.ErrFolder, "absent"},
	{gpuload.ErrNoDriver, "device"},
	{gpuload.ErrNoDevice, "device"},
	{gpuload.ErrCapture, "device"},
	{gpuload.ErrHeld, "held"},
	{gpuload.ErrClosed, "closed"},
	{errStale, "closed"},
	{errPanic, "panic"},
	{fs.ErrNotExist, "missing"},
	{fs.ErrPermission, "denied"},
}

var (
	errStale = errors.New("no such handle: it was closed or given back")
	errPanic = errors.New("this is a bug of shardify")
)

// encodeError is the JSON of an error.
func encodeError(err error) string {
	f := failure{Kind: "value", Message: shardify.Plain(err), Sample: -1, Offset: -1, Ways: waysOf(err)}
	for _, h := range pipeline.Advice(err, "") {
		f.Hints = append(f.Hints, inPython(h))
	}
	var e *shardify.Error
	if errors.As(err, &e) {
		f.Kind = "io"
		f.File, f.Object, f.Field, f.Sample, f.Offset = e.File, e.Object, e.Field, e.Sample, e.Offset
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		f.Kind = "io"
		if f.File == "" {
			f.File = path.Path
		}
	}
	if strings.Contains(f.Message, "CUDA error") {
		f.Kind = "device"
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			f.Kind = k.kind
			break
		}
	}
	b, err := json.Marshal(&f)
	if err != nil {
		return `{"kind":"value","message":"an error that JSON cannot say","sample":-1,"offset":-1}`
	}
	return string(b)
}

// recovered makes an error of a panic, which must not reach the caller's frames.
func recovered(v any) error {
	return fmt.Errorf("panic: %v: %w\n%s", v, errPanic, debug.Stack())
}
