package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// Run makes sure that Dest is a complete, checked copy of Source. Any number of
// processes may call it at once.
func Run(ctx context.Context, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	at, err := placeOf(o.Dest)
	if err != nil {
		return nil, err
	}
	step := o.Steps.Begin("reading the manifests of " + o.Source)
	p, err := load(o.Source)
	if err == nil {
		err = at.checkSeparate(p.source)
	}
	if err == nil && o.digest != "" && o.digest != p.digest {
		err = p.annotate(shardify.Mismatch("the data set has changed since it was opened: xxh3 is %s, it was %s", p.digest, o.digest), index.ManifestName)
	}
	step.End()
	if err != nil {
		return nil, err
	}
	r := p.result(&at)
	step = o.Steps.Begin("looking at " + at.dest)
	r.Already, err = p.there(&at, o.Fresh)
	step.End()
	if err != nil || r.Already && !at.litter() {
		return r, err
	}
	if err := os.MkdirAll(at.parent, 0o777); err != nil {
		return nil, err
	}
	l, waited, err := acquire(ctx, &o, at.lock)
	if err != nil {
		return nil, err
	}
	r.Already, err = p.there(&at, o.Fresh)
	switch {
	case err != nil:
	case r.Already:
		err = at.tidy()
	default:
		if r.Reused, err = p.make(ctx, &o, &at); err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	r.Waited = waited && r.Already
	if e := l.release(); err == nil {
		err = e
	}
	return r, err
}

func (p *plan) result(at *place) *Result {
	return &Result{Path: at.dest, Files: int64(len(p.files) + len(p.manifests)), Samples: p.samples, Bytes: p.bytes, Sets: p.sets}
}

// there reports whether the copy is at its place. Anything else at that place is an error, unless
// it is a copy that may go.
func (p *plan) there(at *place, fresh bool) (bool, error) {
	if st, err := os.Stat(at.dest); err == nil && !st.IsDir() {
		return false, fmt.Errorf("%s exists and is not a folder: %w", at.dest, shardify.ErrExists)
	}
	none, err := empty(at.dest)
	if err != nil || none {
		return false, err
	}
	m, err := readMark(at.dest)
	if err == nil && !ofUser(at.dest) {
		err = fmt.Errorf("%s was made by another user, who may change it: %w", at.dest, fs.ErrPermission)
	}
	switch {
	case errors.Is(err, ErrNotOurs):
		return false, fmt.Errorf("%s is not empty: %w: %w", at.dest, ErrNotOurs, shardify.ErrExists)
	case err != nil:
		return false, err
	case m.Digest != p.digest && !fresh:
		return false, fmt.Errorf("%s is %w: it was copied from %s, whose manifest had xxh3 %s; %s has %s", at.dest, ErrStale, m.Source, m.Digest, p.source, p.digest)
	case m.Digest != p.digest:
		return false, onlyOurs(at.dest)
	}
	err = p.present(at.dest)
	switch {
	case err == nil:
		return true, nil
	case fresh:
		return false, onlyOurs(at.dest)
	}
	return false, fmt.Errorf("%s: %w: %w", at.dest, ErrDamaged, err)
}

// make copies, with the lock held, and gives the copy its name.
func (p *plan) make(ctx context.Context, o *Options, at *place) (reused int64, err error) {
	if err := os.RemoveAll(at.removing); err != nil {
		return 0, err
	}
	if err := p.prepare(at); err != nil {
		return 0, err
	}
	if err := p.space(ctx, o, at); err != nil {
		return 0, err
	}
	o.Progress.Total.Store(p.bytes)
	c := &copier{plan: p, o: o, staging: at.staging, store: local.NewDir(at.staging, o.Sync)}
	o.Steps.Also(c.store.Moves)
	if reused, err = c.run(ctx); err != nil {
		return 0, err
	}
	defer o.Steps.Begin("publishing " + at.dest).End()
	if err := c.finish(ctx); err != nil {
		return 0, err
	}
	return reused, p.publish(at, o)
}

// finish adds manifests and mark, and makes everything durable.
func (c *copier) finish(ctx context.Context) error {
	m, err := json.Marshal(&mark{markVersion, c.source, c.digest, c.samples, c.bytes})
	if err != nil {
		return err
	}
	for _, t := range append(c.manifests, text{MarkName, append(m, '\n')}) {
		p, err := c.store.Create(t.name)
		if err != nil {
			return err
		}
		if _, err := p.Write(t.b); err != nil {
			return errors.Join(err, p.Abort())
		}
		if err := p.Commit(ctx); err != nil {
			return errors.Join(err, p.Abort())
		}
	}
	// Every file has its name; what is there could not be removed a moment ago.
	if err := os.RemoveAll(filepath.Join(c.staging, tempDir)); err != nil {
		return err
	}
	return c.store.Flush(ctx)
}

// tempDir is where a local.Dir keeps files without a name.
var tempDir = filepath.Join(storage.Private, "tmp")

// publish gives the copy its name, and renames what had it before.
func (p *plan) publish(at *place, o *Options) error {
	err := os.Rename(at.staging, at.dest)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, errNotEmpty) {
		// Copying takes its time: what is there now may not be what was looked at.
		there, e := p.there(at, o.Fresh)
		switch {
		case e != nil:
			return e
		case there: // made by a process that our lock does not keep out
			return at.tidy()
		}
		if err = os.Rename(at.dest, at.removing); err == nil {
			err = os.Rename(at.staging, at.dest)
		}
	}
	if err != nil {
		return err
	}
	if o.Sync != local.SyncNone {
		if err := syncFolder(at.parent); err != nil {
			return err
		}
	}
	return os.RemoveAll(at.removing)
}

// space compares what is still to be written with what is free, and waits for it
// if that is wanted.
func (p *plan) space(ctx context.Context, o *Options, at *place) error {
	have := p.left(at)
	need := max(p.bytes-have, 0)
	if o.InMemory > 0 && need > o.InMemory && inMemory(at.parent) {
		return fmt.Errorf("%s takes %s of memory; this process may use %s: %w", at.dest, shardify.FormatSize(need), shardify.FormatSize(o.InMemory), ErrSpace)
	}
	told := false
	for begun := time.Now(); ; {
		free := o.free(at.parent)
		if free < 0 || need <= free {
			return nil
		}
		err := fmt.Errorf("the copy needs %s, %s has %s free: %w", shardify.FormatSize(need), at.parent, shardify.FormatSize(free), ErrSpace)
		if time.Since(begun) >= o.Wait {
			return err
		}
		if !told {
			told = true
			defer o.Steps.Rest()()
			o.Waiting(fmt.Sprintf("space: the copy needs %s, %s has %s free", shardify.FormatSize(need), at.parent, shardify.FormatSize(free)))
		}
		if err := pause(ctx, o.tick); err != nil {
			return err
		}
	}
}
