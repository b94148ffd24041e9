package main

import (
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// blending is the flags of blend.
type blending struct {
	out, meta, split string
	epochs           []string
}

func blendCommand(p *program) *cobra.Command {
	var s blending
	c := &cobra.Command{
		Use:   "blend [NAME=]FOLDER... [-o FILE]",
		Short: "weigh sets of tokens for trainers that mix them",
		Long: `Writes the file list that BlendCorpus and its kin train from: a line "weight prefix corpus" for each pair of .bin and .idx. The weight
is the pair's share of all tokens that are seen: its tokens times the epochs of its corpus, of the sum of all.

A folder is a data set of --format megatron, a joined one too, or holds pairs of any making. It is one corpus, called as the folder
unless NAME says otherwise; a folder of folders of pairs is a corpus for each of these.`,
		Example: `shardify blend web=web-tokens code=code-tokens -o blend.txt
shardify blend corpora --epochs books=2 --epochs web=0.5 -o blend.txt --meta blend.json`,
		Args: cobra.ArbitraryArgs,
	}
	cli.Grouped(c.Flags(), "Output", func(fs *pflag.FlagSet) {
		fs.StringVarP(&s.out, "output", "o", "", "`FILE` for the list; it is printed if left out")
		fs.StringVar(&s.meta, "meta", "", "`FILE` for documents and tokens of each pair, as BlendCorpus' get_meta_data has them in JSON")
		fs.StringArrayVar(&s.epochs, "epochs", nil, "`CORPUS=N`: its tokens are seen N times where those of others are seen once; may be repeated")
		fs.StringVar(&s.split, "split", "", "`SPLIT` of the sets")
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		all, err := pipeline.Blend(c.Context(), args, s.epochs, s.split)
		if err != nil {
			return err
		}
		return p.blended(all, s)
	}
	return c
}

// blended writes the files and says what is in them.
func (p *program) blended(all []pipeline.Corpus, s blending) error {
	meta, err := pipeline.FileMeta(all)
	if err != nil {
		return err
	}
	list := pipeline.FileList(all)
	for _, f := range []struct {
		name string
		data []byte
	}{{s.meta, meta}, {s.out, list}} {
		if f.name == "" {
			continue
		}
		out, err := cli.CreateFile(f.name)
		if err != nil {
			return err
		}
		defer out.Abort()
		if _, err := out.Write(f.data); err != nil {
			return err
		}
		if err := out.Commit(); err != nil {
			return err
		}
	}
	p.Object("blend", struct {
		Output  string            `json:"output,omitempty"`
		Meta    string            `json:"meta,omitempty"`
		Corpora []pipeline.Corpus `json:"corpora"`
	}{s.out, s.meta, all})
	if s.out == "" {
		if !p.JSON {
			_, err = p.Out.Write(list)
		}
		return err
	}
	for i := range all {
		c := &all[i]
		p.Result("%s: %s in %s, %g of all that is seen (epochs %g)", c.Name, printable.Of(c.Tokens(), "token"), printable.Of(int64(len(c.Pairs)), "pair"), c.Share(), c.Epochs)
	}
	p.Result("done: file list in %s", s.out)
	return nil
}
