package cli

import (
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
)

// Blending is where blend writes: the list, to the output if there is no name, and the counts, if there is a name.
type Blending struct{ Out, Meta string }

// Blended writes the files of blend and says what is in them.
func (o *IO) Blended(all []pipeline.Corpus, s Blending) error {
	meta, err := pipeline.FileMeta(all)
	if err != nil {
		return err
	}
	list := pipeline.FileList(all)
	for _, f := range []struct {
		name string
		data []byte
	}{{s.Meta, meta}, {s.Out, list}} {
		if f.name == "" {
			continue
		}
		out, err := CreateFile(f.name)
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
	o.Object("blend", struct {
		Output  string            `json:"output,omitempty"`
		Meta    string            `json:"meta,omitempty"`
		Corpora []pipeline.Corpus `json:"corpora"`
	}{s.Out, s.Meta, all})
	if s.Out == "" {
		if !o.JSON {
			_, err = o.Out.Write(list)
		}
		return err
	}
	for i := range all {
		c := &all[i]
		o.Result("%s: %s in %s, %s of all that is seen (epochs %s)", c.Name, printable.Of(c.Tokens(), "token"), printable.Of(int64(len(c.Pairs)), "pair"), printable.Percent(c.Share()), printable.Value(c.Epochs))
	}
	o.Result("done: file list in %s", s.Out)
	return nil
}
