package trainer

import (
	"fmt"
	"time"

	"github.com/shardify/shardify/gpuload"
)

// report sums up what the ranks have done.
func report(set *gpuload.Dataset, o *Options, ranks []*rank, before usage) *Report {
	r := &Report{Settings: settings(set, o, ranks[0]), Notes: ranks[0].loader.Notes(), Device: DeviceOf(ranks[0].device), Storage: -1}
	var wait histogram
	var first, last time.Time
	atFirst, atEnd := ranks[0].atBegin, ranks[0].atEnd
	worst := ranks[0]
	for _, k := range ranks {
		s := &k.stats
		r.Steps += k.steps
		r.Epochs = k.epochs
		r.Samples += k.samples
		r.Bytes += k.bytes
		r.ReadBytes += s.ReadBytes
		r.First.Wait, r.First.Fill, r.First.Stage = max(r.First.Wait, s.FirstWait), max(r.First.Fill, s.Fill), max(r.First.Stage, s.Stage)
		r.Work.Read, r.Work.Gather, r.Work.Copy, r.Work.Step = r.Work.Read+s.Read, r.Work.Gather+s.Gather, r.Work.Copy+s.Copy, r.Work.Step+k.computed.Seconds()
		r.Memory.Host, r.Memory.Device, r.Memory.Staged = r.Memory.Host+s.Memory, r.Memory.Device+s.DeviceMemory, max(r.Memory.Staged, s.Staged)
		wait.merge(&k.wait)
		if first.IsZero() || k.begin.Before(first) {
			first, atFirst = k.begin, k.atBegin
		}
		if k.last.After(last) {
			last, atEnd = k.last, k.atEnd
		}
		if s.Utilization < worst.stats.Utilization {
			worst = k
		}
		if len(ranks) > 1 {
			r.Ranks = append(r.Ranks, k.report())
		}
	}
	r.Steps /= int64(len(ranks))
	r.Seconds = last.Sub(first).Seconds()
	if r.Seconds > 0 {
		r.SamplesPerSecond, r.BytesPerSecond = float64(r.Samples)/r.Seconds, float64(r.Bytes)/r.Seconds
	}
	r.Wait = waits(&wait)
	if all := r.Work.Step + r.Wait.Total; all > 0 {
		r.Utilization = r.Work.Step / all
	}
	if asked := o.Step.Seconds() * float64(wait.n); asked > 0 {
		r.Late = max(r.Work.Step/asked-1, 0)
	}
	r.Limit, r.Verdict = worst.stats.Bound, worst.stats.Verdict
	if len(ranks) > 1 && r.Verdict != "" {
		r.Verdict = fmt.Sprintf("rank %d: %s", worst.number, r.Verdict)
	}
	r.First.CPU = atFirst.cpu - before.cpu
	r.CPU = cost(atFirst, atEnd, r.Bytes, r.Seconds)
	if before.storage >= 0 {
		r.Storage = atEnd.storage - before.storage
	}
	if o.Detail {
		r.detail = details(ranks, &wait)
	}
	return r
}

func settings(set *gpuload.Dataset, o *Options, k *rank) Settings {
	c := &o.Load
	s := Settings{
		Samples: set.Len(), Bytes: set.Bytes(), Fingerprint: set.Fingerprint(), Columns: k.loader.Columns(),
		Batch: c.Batch, StepSeconds: o.Step.Seconds(), Shuffle: string(c.Shuffle), Order: k.loader.Order().String(), Seed: c.Seed,
		Ranks: o.Ranks, Device: k.device.Device, Tier: string(k.stats.Tier), Workers: k.stats.Workers, Depth: c.Depth,
		Synthetic: c.Synthetic, Cores: k.stats.Cores, Traced: o.Trace != nil || o.Detail,
	}
	if s.Shuffle == "" {
		s.Shuffle = string(gpuload.None)
	}
	if k.steps > 0 {
		s.BatchBytes = k.allBytes / k.steps
	}
	return s
}

func waits(h *histogram) waited {
	const ns = 1e-9
	return waited{P50: float64(h.quantile(0.5)) * ns, P99: float64(h.quantile(0.99)) * ns, Max: float64(h.max) * ns, Total: float64(h.sum) * ns}
}

func cost(from, to usage, bytes int64, seconds float64) CPU {
	c := CPU{Seconds: to.cpu - from.cpu}
	if bytes > 0 {
		c.PerGB = c.Seconds / (float64(bytes) * 1e-9)
	}
	if seconds > 0 {
		c.Cores = c.Seconds / seconds
	}
	return c
}

func (k *rank) report() Rank {
	r := Rank{Steps: k.steps, Samples: k.samples, Seconds: k.last.Sub(k.begin).Seconds(), Utilization: k.stats.Utilization, Wait: waits(&k.wait), Verdict: k.stats.Verdict}
	if r.Seconds > 0 {
		r.SamplesPerSecond = float64(k.samples) / r.Seconds
	}
	return r
}

// details joins the ranks' series and takes the timeline of the rank that waited
// longest for a single batch.
func details(ranks []*rank, wait *histogram) *detail {
	d := &detail{flow: newSeries(flowKinds), busy: newSeries(len(lanes)), waits: wait.bins()}
	worst := ranks[0]
	for _, k := range ranks {
		d.flow.merge(k.flow)
		d.busy.merge(k.events.busy)
		if k.events.worst > worst.events.worst {
			worst = k
		}
	}
	e := worst.events
	d.rank, d.most = worst.number, e.worst
	d.head, d.worst = e.moved(e.head), e.moved(e.around)
	return d
}
