package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func blendCommand(p *program) *cobra.Command {
	var s cli.Blending
	var split string
	var epochs []string
	c := &cobra.Command{
		Use:   "blend [NAME=]FOLDER... [-o FILE]",
		Short: "weigh sets of tokens for trainers that mix them",
		Long: `Writes the file list that BlendCorpus and similar trainers read: a line "weight prefix corpus" for each pair of .bin and .idx. The weight
is the pair's share of all tokens that are seen: its tokens times the epochs of its corpus, of the sum of all.

A folder is a data set of --format megatron, also one of merge-sets, or holds pairs from any tool. It is one corpus with the name of the
folder, unless NAME is given; a folder of folders of pairs is a corpus for each of these.`,
		Example: `shardify blend web=web-tokens code=code-tokens -o blend.txt
shardify blend corpora --epochs books=2 --epochs web=0.5 -o blend.txt --meta blend.json`,
		Args: cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&s.Out, "output", "o", "", "`FILE` for the list; it is printed if left out")
		fs.StringVar(&s.Meta, "meta", "", "`FILE` for documents and tokens of each pair, as BlendCorpus' get_meta_data has them in JSON")
		fs.StringArrayVar(&epochs, "epochs", nil, "`CORPUS=N`: its tokens are seen N times where those of others are seen once; may be repeated")
		fs.StringVar(&split, "split", "", "`SPLIT` of the sets")
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		all, err := pipeline.Blend(c.Context(), args, epochs, split)
		if err != nil {
			return err
		}
		return p.Blended(all, s)
	}
	return c
}
