package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
	"github.com/spf13/pflag"
)

// Grouped puts the flags that add adds under a heading.
func Grouped(fs *pflag.FlagSet, heading string, add func(*pflag.FlagSet)) {
	part := pflag.NewFlagSet("", pflag.ContinueOnError)
	part.SortFlags = false
	add(part)
	part.VisitAll(func(f *pflag.Flag) {
		fs.AddFlag(f)
		fs.SetAnnotation(f.Name, Group, []string{heading})
	})
}

// AddKeys adds the flags of some settings.
func AddKeys(fs *pflag.FlagSet, s *pipeline.Settings, names ...string) {
	for _, name := range names {
		addKey(fs, s, &settings.Lookup(name).KeyOf)
	}
}

// AddSubmission adds the flags of a submission, but for those named.
func AddSubmission(fs *pflag.FlagSet, s *pipeline.SubmitSettings, without []string) {
	fs.SortFlags = false
	for i := range pipeline.SubmitKeys {
		k := &pipeline.SubmitKeys[i]
		if slices.Contains(without, k.Name) {
			continue
		}
		Grouped(fs, k.Group, func(fs *pflag.FlagSet) { addKey(fs, s, k) })
	}
}

func addKey[S any](fs *pflag.FlagSet, s *S, k *settings.KeyOf[S]) {
	v := k.Of(s)
	f := fs.VarPF(v, k.Name, k.Short, k.Help)
	if v.Type() == "bool" {
		f.NoOptDefVal = "true"
	}
}

// SettingsFlags are the flags of all settings.
type SettingsFlags struct {
	fs     *pflag.FlagSet
	s      *pipeline.Settings
	recipe string
}

// commonKeys are settings whose flags many commands have.
var commonKeys = []string{"ignore-times"}

// AddSettings adds the flags of all settings and options of formats, and --recipe.
func AddSettings(fs *pflag.FlagSet, s *pipeline.Settings) *SettingsFlags {
	f := &SettingsFlags{fs: fs, s: s}
	fs.SortFlags = false
	for _, heading := range groupOrder {
		Grouped(fs, heading, func(fs *pflag.FlagSet) {
			for i := range settings.Keys {
				if k := &settings.Keys[i]; k.Group == heading && !slices.Contains(commonKeys, k.Name) {
					addKey(fs, s, &k.KeyOf)
				}
			}
			if heading == settings.GroupInput {
				fs.StringVar(&f.recipe, "recipe", "", "`FILE.yaml`: read settings from it; the command line overrides them")
			}
		})
	}
	s.Options = map[string]string{}
	AddFormatFlags(fs, readers.Formats, writers.Formats, s.Options)
	return f
}

// Complete adds what the recipe says and the command line does not.
func (f *SettingsFlags) Complete(args []string) error {
	f.s.Inputs = args
	if f.recipe == "" {
		return nil
	}
	named := len(args) > 0 || f.s.FilesFrom != ""
	return f.s.LoadRecipe(f.recipe, func(key string, words []string) (bool, error) {
		fl := f.fs.Lookup(key)
		switch {
		case key == "inputs":
			return named, nil
		case fl == nil || key == "recipe" || key == "help":
			return false, nil
		case fl.Changed:
			return true, nil
		case settings.Lookup(key) != nil || len(settings.Owners(key)) > 0:
			return false, nil
		}
		value := strings.Join(words, ",")
		err := fl.Value.Set(value)
		if err != nil {
			err = errors.New(wrongValue(fl, value, err))
		}
		return true, err
	})
}
