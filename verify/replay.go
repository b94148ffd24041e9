package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/verify/problem"
	"golang.org/x/sync/errgroup"
)

// replay carries out a plan again, in a folder of its own: what a conversion that shuffles, splits,
// selects or changes samples makes of the inputs. The same plan and inputs make the same bytes, so
// shards with equal digests have equal values.
type replay struct {
	dir    string
	shards map[string]shardify.Shard // by name below the top folder
	firsts map[string]int64          // number of a shard's first sample in its set
}

func (r *replay) close() error {
	if r == nil {
		return nil
	}
	return os.RemoveAll(r.dir)
}

// replayed is the replay of the whole set, made once for all its splits. An error means
// that nothing can be compared.
func (c *comparison) replayed(ctx context.Context) (*replay, error) {
	top := c.top()
	if top.replay != nil || top.unreplayed != nil {
		return top.replay, top.unreplayed
	}
	r, err := c.convertAgain(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	top.replay, top.unreplayed = r, err
	return r, err
}

func (c *comparison) convertAgain(ctx context.Context) (r *replay, err error) {
	p := *c.plan
	p.In.Table = c.now
	sink := c.sink
	if sink == nil {
		return nil, shardify.Unsupported("output format %q", c.format)
	}
	dir, err := os.MkdirTemp(c.o.Scratch, "shardify-verify-")
	if err != nil {
		return nil, err
	}
	r = &replay{dir: dir, shards: map[string]shardify.Shard{}, firsts: map[string]int64{}}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := c.roomFor(&p, dir); err != nil {
		return nil, err
	}
	s := local.NewDir(dir, local.SyncNone)
	j := convert.Job{Plan: &p, Source: c.source, Sink: *sink, Store: s, Pool: shardify.NewPool(replayMemory), Jobs: c.o.Jobs, Compile: c.again.Compile, Record: questions.Record, IgnoreTimes: true}
	if _, err := j.Convert(ctx); err != nil {
		return nil, c.changed(err)
	}
	return r, r.list(s, "")
}

// changed adds to an error of reading that an input is another file than it was: then it need
// not be damaged.
func (c *comparison) changed(err error) error {
	for i := range c.now.Len() {
		if e := c.since(uint32(i), err); errors.Is(e, shardify.ErrChanged) {
			return fmt.Errorf("%s %w: %w", c.now.Path(i), shardify.ErrChanged, err)
		}
	}
	return err
}

// replayMemory is the memory for samples of a conversion that is made again.
const replayMemory = 512 << 20

// roomFor refuses a conversion that the scratch folder has no room for.
func (c *comparison) roomFor(p *plan.Plan, dir string) error {
	need := c.top().bytes
	if p.Order.Shuffle == plan.ShuffleGlobal {
		need *= 2 // shuffled samples are there twice for a while
	}
	if free := host.SpaceOf(dir).Bytes; free >= 0 && need > free {
		return fmt.Errorf("the conversion is made again in %s, which has %s free and takes %s: --scratch FOLDER names another", filepath.Dir(dir), shardify.FormatSize(free), shardify.FormatSize(need))
	}
	return nil
}

// list notes the shards of a manifest, and of the splits that it names.
func (r *replay) list(s storage.Store, prefix string) error {
	b, err := (&set{store: s}).text(prefix+index.ManifestName, decodes)
	if err != nil {
		return err
	}
	m, err := index.DecodeManifest(b)
	if err != nil {
		return err
	}
	at := int64(0)
	for _, sh := range m.Shards {
		r.shards[prefix+sh.Name], r.firsts[prefix+sh.Name] = sh, at
		at += sh.Samples
	}
	for split := range m.Splits {
		if err := r.list(s, split+"/"); err != nil {
			return err
		}
	}
	return nil
}

// withReplay compares the shards with those of the replay.
func (c *comparison) withReplay(ctx context.Context) error {
	r, err := c.replayed(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.uncompared(err)
		return nil
	}
	var differ []int
	for j := range c.shards {
		e := &c.shards[j]
		if !c.results[j].read {
			continue
		}
		switch want, ok := r.shards[c.prefix+e.Name]; {
		case !ok || want.Samples != e.Samples:
			p := problem.New(problem.LevelValues, problem.KindMismatch, e.Name, "samples")
			p.Want, p.Got = problem.Says(convertedAgain, fmt.Sprint(want.Samples)), problem.Says(e.from, fmt.Sprint(e.Samples))
			c.add(p)
		case want.Digest == e.Digest:
			c.count(e.Samples, len(c.schema))
		default:
			differ = append(differ, j)
		}
	}
	return c.differing(ctx, r, differ)
}

// convertedAgain is what a replay is called in reports.
const convertedAgain = "the inputs, converted again"

// differing compares the values of shards whose bytes differ.
func (c *comparison) differing(ctx context.Context, r *replay, shards []int) error {
	if len(shards) == 0 {
		return nil
	}
	if !c.readable() {
		for _, j := range shards {
			e := &c.shards[j]
			p := digestProblem(problem.LevelValues, e.Name, convertedAgain, r.shards[c.prefix+e.Name].Digest, e.Digest)
			p.Got.From = e.from
			c.add(p)
		}
		return nil
	}
	theirs, err := c.openSet(ctx, filepath.Join(r.dir, filepath.FromSlash(c.prefix)))
	if err != nil {
		return err
	}
	defer theirs.Close()
	if err := c.openOurs(ctx); err != nil || c.ours == nil {
		return err
	}
	defer c.ours.Close()
	again := *c
	again.source, again.isReplay = theirs, true
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(c.o.Jobs)
	for _, j := range shards {
		g.Go(func() error {
			l := &openReaders{c: &again, number: j}
			defer l.close()
			return l.replayed(each, r)
		})
	}
	return g.Wait()
}

// replayed compares one shard with that of the replay, sample by sample.
func (l *openReaders) replayed(ctx context.Context, r *replay) error {
	e := &l.c.shards[l.number]
	first, n := r.firsts[l.c.prefix+e.Name], max(plan.SpanBytes*e.Samples/max(e.Bytes, 1), 1)
	for l.at < e.Samples {
		k := min(n, e.Samples-l.at)
		if err := l.span(ctx, shardify.Span{Lo: first + l.at, Hi: first + l.at + k}); err != nil {
			return err
		}
		l.at += k
	}
	return nil
}
