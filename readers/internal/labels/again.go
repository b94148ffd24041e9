package labels

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// ClassesAgain is the options with which further inputs have classes if those of a set do,
// however few folders there are: see format.Input. Codes that --encode gave are no classes of folders.
func ClassesAgain(o format.Options, schema []shardify.Field, _ bool) format.Options {
	again := format.Options{}
	if i := shardify.FieldIndex(schema, ClassField); i >= 0 && schema[i].Labels() != nil && schema[i].Attrs[format.VocabAttr] == "" && o.Value(&optLabels) == Auto {
		again[optLabels.Name] = Always
	}
	return again
}

// Again is ClassesAgain for files that may be samples each: they are if samples of the set
// have names.
func Again(o format.Options, schema []shardify.Field, keyed bool) format.Options {
	if !keyed {
		return nil
	}
	again := ClassesAgain(o, schema, keyed)
	again[optKeys.Name] = keysPath
	return again
}
