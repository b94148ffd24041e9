package pipeline

import (
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline/internal/blend"
)

// Corpus is pairs of Megatron that are weighed together, see Blend.
type Corpus = blend.Corpus

// Blend finds the pairs of Megatron in folders, FOLDER or NAME=FOLDER, and the weight of each, from
// its tokens and the epochs of its corpus, NAME=NUMBER. split chooses one of sets that have some.
func Blend(ctx context.Context, folders, epochs []string, split string) (all []Corpus, err error) {
	if len(folders) == 0 {
		return nil, shardify.Hint(shardify.Usage("no folder with pairs"), "for example: shardify blend web=web-tokens code=code-tokens -o blend.txt")
	}
	for _, f := range folders {
		name, folder, named := strings.Cut(f, "=")
		if !named || strings.ContainsAny(name, `/\`) {
			name, folder = "", f
		} else if name == "" || folder == "" {
			return nil, shardify.Usage("%q: want FOLDER or NAME=FOLDER", f)
		}
		some, err := blend.Corpora(ctx, name, folder, split)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	for _, e := range epochs {
		name, value, _ := strings.Cut(e, "=")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, shardify.Usage("--epochs %q: want CORPUS=NUMBER, 0 or more", e)
		}
		found := false
		for i := range all {
			if all[i].Name == name {
				all[i].Epochs, found = n, true
			}
		}
		if !found {
			return nil, shardify.Usage("--epochs %s: there is no corpus %s among %s", e, name, corpusNames(all))
		}
	}
	return all, blend.Weigh(all)
}

func corpusNames(all []Corpus) string {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// FileList is the lines that BlendCorpus reads: weight, prefix and corpus of each pair.
func FileList(all []Corpus) []byte { return blend.FileList(all) }

// FileMeta is the JSON of BlendCorpus' get_meta_data: documents and tokens of each pair.
func FileMeta(all []Corpus) ([]byte, error) { return blend.Meta(all) }
