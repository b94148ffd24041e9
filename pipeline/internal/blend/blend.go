// Package blend finds pairs of Megatron and weighs them for trainers that mix them.
package blend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// Corpus is pairs of Megatron that are weighed together.
type Corpus struct {
	Name   string  `json:"corpus"`
	Folder string  `json:"folder"`
	Epochs float64 `json:"epochs"` // how often each token is to be seen, beside those of others
	Pairs  []Pair  `json:"pairs"`
}

// Pair is a .bin with its .idx.
type Pair struct {
	Prefix    string  `json:"prefix"` // whole path, without an extension
	Documents int64   `json:"documents"`
	Tokens    int64   `json:"tokens"`
	Share     float64 `json:"share"` // of all tokens that are seen
}

// Tokens in all pairs.
func (c *Corpus) Tokens() (n int64) {
	for _, p := range c.Pairs {
		n += p.Tokens
	}
	return n
}

// Share of all pairs.
func (c *Corpus) Share() (share float64) {
	for _, p := range c.Pairs {
		share += p.Share
	}
	return share
}

// Corpora finds the pairs of a corpus: a set of megatron shards (of which split, "" for one
// without), or a folder of pairs from any tool. A folder without a name whose pairs are all in
// subfolders is a corpus for each of these, in the order of their names.
func Corpora(ctx context.Context, name, folder, split string) ([]Corpus, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	x := pairs{ctx: ctx, split: split}
	here, below, set, err := x.list(abs)
	if err != nil {
		return nil, err
	}
	if name != "" || set || len(here) > 0 {
		c := Corpus{Name: cmp.Or(name, filepath.Base(abs)), Folder: folder, Epochs: 1}
		c.Pairs, err = x.all(abs)
		return []Corpus{c}, err
	}
	var out []Corpus
	for _, dir := range below {
		all, err := x.all(dir)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 {
			out = append(out, Corpus{Name: filepath.Base(dir), Folder: filepath.Join(folder, filepath.Base(dir)), Epochs: 1, Pairs: all})
		}
	}
	if len(out) == 0 {
		return nil, shardify.Annotate(shardify.Unsupported("no pairs of .bin and .idx: --format megatron makes some"), "blend", folder, "")
	}
	return out, nil
}

// pairs looks for pairs in folders.
type pairs struct {
	ctx   context.Context
	split string
}

// all is the pairs in a folder and those below it.
func (x *pairs) all(dir string) (out []Pair, err error) {
	here, below, _, err := x.list(dir)
	if err != nil {
		return nil, err
	}
	for _, bin := range here {
		p, err := x.pair(bin)
		if err != nil {
			return nil, shardify.Annotate(err, "blend", megatron.Index(bin), "")
		}
		out = append(out, p)
	}
	for _, dir := range below {
		more, err := x.all(dir)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// list is the .bin files in a folder that belong to pairs, and the folders in it. Of a data set it
// is its shards, and no folders.
func (x *pairs) list(dir string) (bins, dirs []string, set bool, err error) {
	if err := context.Cause(x.ctx); err != nil {
		return nil, nil, false, err
	}
	b, err := dataset.ReadManifest(x.ctx, local.Files, filepath.Join(dir, index.ManifestName))
	if err == nil {
		bins, err = x.shards(dir, b)
		return bins, nil, true, shardify.Annotate(err, "blend", dir, "")
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, false, err
	}
	for e, err := range local.Files.List(x.ctx, dir) {
		if err != nil {
			return nil, nil, false, err
		}
		name := filepath.Join(dir, e.Name)
		switch {
		case e.Name == storage.Private:
			return nil, nil, false, shardify.Annotate(shardify.Unsupported("the conversion is not finished: shardify status shows what is missing"), "blend", dir, "")
		case strings.HasPrefix(e.Name, "."):
		case e.Type == storage.Folder:
			dirs = append(dirs, name)
		case dataset.IsPairIndex(e.Name):
			bins = append(bins, megatron.Data(name))
		}
	}
	slices.Sort(bins)
	slices.Sort(dirs)
	return bins, dirs, false, nil
}

// shards are those of a data set.
func (x *pairs) shards(dir string, manifest []byte) (bins []string, err error) {
	m, err := index.DecodeManifest(manifest)
	if err != nil {
		return nil, err
	}
	if m.Format != index.FormatMegatron {
		return nil, shardify.Unsupported("a set of %s shards: --format megatron makes pairs", m.Format)
	}
	_, ok := m.Splits[x.split]
	switch {
	case len(m.Splits) > 0 && !ok:
		return nil, shardify.Hint(shardify.Usage("the set has splits"), "choose one: --split train")
	case ok:
		dir = filepath.Join(dir, x.split)
		b, err := dataset.ReadManifest(x.ctx, local.Files, filepath.Join(dir, index.ManifestName))
		if err != nil {
			return nil, err
		}
		if m, err = index.DecodeManifest(b); err != nil {
			return nil, err
		}
	case x.split != "":
		return nil, shardify.Usage("the set has no splits, --split %s names one", x.split)
	}
	for _, s := range m.Shards {
		bins = append(bins, filepath.Join(dir, filepath.FromSlash(s.Name)))
	}
	return bins, nil
}

// pair reads the head and the last entry of an index.
func (x *pairs) pair(bin string) (p Pair, err error) {
	data, err := local.Files.Stat(x.ctx, bin)
	if err != nil {
		return p, err
	}
	f, err := local.Files.Open(x.ctx, megatron.Index(bin))
	if err != nil {
		return p, err
	}
	defer f.Close()
	h, err := megatron.ReadHead(f, f.Size())
	if err != nil {
		return p, err
	}
	n, err := h.Bytes(f)
	if err != nil {
		return p, err
	}
	if n != data.Size {
		return p, h.Differs(n, data.Size)
	}
	return Pair{Prefix: strings.TrimSuffix(bin, megatron.DataExt), Documents: h.Documents, Tokens: n / int64(h.DType.Size())}, nil
}

// Weigh finds the share of each pair: its tokens times the epochs of its corpus, of the sum of all.
func Weigh(all []Corpus) error {
	sum := 0.0
	names := map[string]string{}
	for i := range all {
		c := &all[i]
		if other, ok := names[c.Name]; ok {
			return shardify.Usage("two corpora %s, %s and %s: name them, NAME=FOLDER", c.Name, other, c.Folder)
		}
		names[c.Name] = c.Folder
		if words(c.Name) != 1 {
			return shardify.Usage("corpus %q: readers of file lists cut lines at white space; name it, NAME=FOLDER", c.Name)
		}
		for k := range c.Pairs {
			p := &c.Pairs[k]
			if words(p.Prefix) != 1 {
				return shardify.Usage("%q: readers of file lists cut lines at white space, so that no name may have any", p.Prefix)
			}
			p.Share = float64(float64(p.Tokens) * c.Epochs)
			sum += p.Share
		}
	}
	if !(sum > 0) {
		return shardify.Usage("there are no tokens in the pairs, or no epochs of those that have some")
	}
	for i := range all {
		for k := range all[i].Pairs {
			all[i].Pairs[k].Share /= sum
		}
	}
	return nil
}

func words(s string) int { return len(strings.FieldsFunc("x"+s, unicode.IsSpace)) }

// FileList is the lines that BlendCorpus reads: weight, prefix and corpus of each pair. Those
// without tokens have no place among samples.
func FileList(all []Corpus) []byte {
	var b []byte
	for i := range all {
		for _, p := range all[i].Pairs {
			if p.Share > 0 {
				b = strconv.AppendFloat(b, p.Share, 'g', 17, 64)
				b = append(b, ' ')
				b = append(b, p.Prefix...)
				b = append(b, ' ')
				b = append(b, all[i].Name...)
				b = append(b, '\n')
			}
		}
	}
	return b
}

// Meta is the JSON of BlendCorpus' get_meta_data.
func Meta(all []Corpus) ([]byte, error) {
	type entry struct {
		Prefix    string `json:"data_prefix"`
		Documents int64  `json:"total_num_docs"`
		Tokens    int64  `json:"total_num_tokens"`
	}
	out := []entry{}
	for i := range all {
		for _, p := range all[i].Pairs {
			out = append(out, entry{p.Prefix, p.Documents, p.Tokens})
		}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(b, '\n'), err
}
