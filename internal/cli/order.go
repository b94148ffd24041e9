package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/transform"
)

// SplitFlags is what --split and the flags beside it say.
type SplitFlags struct {
	Split, From       string
	Identity          []string
	Stratify, GroupBy string
}

// Parse makes a split of the flags; nil if there is none.
func (f *SplitFlags) Parse() (s *convert.Split, err error) {
	switch {
	case f.Split != "" && f.From != "":
		return nil, Usage("--split and --split-from exclude each other")
	case f.Split != "":
		s, err = convert.ParseSplit(f.Split)
	case f.From != "":
		s, err = convert.ParseSplitFrom(f.From)
	case len(f.Identity) > 0 || f.Stratify != "" || f.GroupBy != "":
		return nil, Usage("--identity, --stratify and --group-by go with --split")
	default:
		return nil, nil
	}
	if err != nil {
		return nil, Usage("%s", shardify.Reason(err))
	}
	s.Identity, s.Stratify, s.GroupBy = f.Identity, f.Stratify, f.GroupBy
	return s, nil
}

// splitFields are the fields of the inputs that the split goes by; --set may have made
// others.
func (s *Settings) splitFields() (out []string) {
	if s.Split == nil {
		return nil
	}
	var made []string
	for _, t := range s.Shape[transform.Set] {
		name, _, _ := strings.Cut(t, "=")
		name, _, _ = strings.Cut(name, ":")
		made = append(made, strings.TrimSpace(name))
	}
	for _, n := range s.Split.Needs() {
		if !slices.Contains(made, n) {
			out = append(out, n)
		}
	}
	return out
}

// ScratchFolder is where the fragments of this conversion are: below --scratch in a
// folder of their own, since several conversions may share that.
func (p *Prepared) ScratchFolder() string {
	if p.Plan.ScratchPath == "" {
		return filepath.Join(p.Output, filepath.FromSlash(convert.ScratchDir))
	}
	return filepath.Join(p.Plan.ScratchPath, "shardify-"+strings.TrimPrefix(p.Plan.Digest(), index.DigestPrefix)[:16])
}

// Tidy removes the scratch folder of a complete data set.
func (p *Prepared) Tidy() error {
	if p.Plan.Shuffle == "" {
		return nil
	}
	if err := p.Job.Tidy(); err != nil {
		return err
	}
	return removeScratch(p.ScratchFolder())
}

// removeScratch removes the folder, unless another process at the same conversion puts a
// file there at this moment: it will find the data set complete, and remove what it made.
func removeScratch(folder string) error {
	err := os.RemoveAll(folder)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}

// orderLines tells where samples go, and in which order.
func (p *Prepared) orderLines(line func(label, format string, args ...any)) {
	x := p.Plan
	for _, f := range x.Findings {
		line("found", "%s: %s", f.What, shorten(f.Result))
	}
	if x.Split != nil && len(x.Split.Inputs) > 0 {
		line("split", "%s: %s", x.Split, strings.Join(x.SplitNames(), ", "))
	} else if x.Split != nil {
		line("split", "%s%s (seed %d)", x.Split, by(x.Split), x.Seed)
	}
	switch x.Shuffle {
	case convert.ShuffleGlobal:
		line("shuffle", "global: uniform over all samples (seed %d); about %s of scratch in %s until the end", x.Seed, shardify.FormatSize(x.ShuffleBytes()), p.ScratchFolder())
	case convert.ShuffleBlock:
		line("shuffle", "block: the samples of each shard among themselves (seed %d)", x.Seed)
	default:
		line("shuffle", "none: samples stay in the order of the inputs%s", p.orderWarning())
	}
}

func by(s *convert.Split) string {
	switch {
	case s.GroupBy != "":
		return ", samples with one " + s.GroupBy + " together"
	case s.Stratify != "":
		return ", each " + s.Stratify + " in proportion"
	case len(s.Identity) > 0:
		return ", by " + strings.Join(s.Identity, ",")
	}
	return ""
}

// orderWarning names the cure where the order of the inputs says what the samples are.
func (p *Prepared) orderWarning() string {
	constant := slices.ContainsFunc(p.Plan.Ops, func(o convert.Op) bool { return o.Name == transform.Set })
	switch n, _ := p.Plan.Inputs(); {
	case n > 1 && constant:
		return "; the constants of --set say which input a sample is from, and equal ones stand together: --shuffle global mixes them"
	case n > 1:
		return fmt.Sprintf("; those of %s follow each other: --shuffle global mixes them", Of(n, "input"))
	}
	return ""
}

func shorten(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Few lists words, the first five of many.
func Few(words []string) string {
	if len(words) > 5 {
		return strings.Join(words[:5], ", ") + fmt.Sprintf(" and %d more", len(words)-5)
	}
	return strings.Join(words, ", ")
}
