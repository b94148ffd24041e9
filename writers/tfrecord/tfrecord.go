// Package tfrecord writes a tf.train.Example for each sample, with the bytes that TensorFlow gives it in
// order of the keys, into TFRecord or ArrayRecord files; and the files of TensorFlow Datasets for the
// whole set. Packages index/tfrecord and index/arrayrecord have the bytes.
package tfrecord

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/storage"
)

// Format is the line in the table of writers.
var Format = format.Output{
	Name: "tfrecord", Words: []string{"tfrecords", "tfds"},
	Help:         "TFRecord: tf.train.Example, for tf.data and TensorFlow Datasets",
	Ext:          ".tfrecord",
	Check:        records.check,
	SampleBytes:  records.sampleBytes,
	New:          records.sink,
	Finish:       records.finish,
	FinishSplits: records.finishSplits,
	Verify:       records.verify,
	Owns:         owns,
	Hint: func(folder string, quote func(string) string) string {
		return "python3 -c " + quote(fmt.Sprintf("import tensorflow_datasets as tfds; b = tfds.builder_from_directory(%q); print(next(iter(b.as_dataset(split=list(b.info.splits)[0]))))", folder))
	},
}

// ArrayRecord is the line of the other container.
var ArrayRecord = format.Output{
	Name: "arrayrecord", Words: []string{"array_record", "grain"},
	Help:         "ArrayRecord: tf.train.Example, for Grain and TensorFlow Datasets",
	Ext:          ".array_record",
	Check:        arrays.check,
	SampleBytes:  arrays.sampleBytes,
	New:          arrays.sink,
	Finish:       arrays.finish,
	FinishSplits: arrays.finishSplits,
	Verify:       arrays.verify,
	Owns:         owns,
	Hint: func(folder string, quote func(string) string) string {
		return "python3 -c " + quote(fmt.Sprintf("import glob; from array_record.python.array_record_data_source import ArrayRecordDataSource; ds = ArrayRecordDataSource(sorted(glob.glob(%q))); print(len(ds))", folder+"/*.array_record"))
	},
}

// container is the kind of files, as TensorFlow Datasets call it.
type container string

const (
	records container = "tfrecord"
	arrays  container = "array_record"
)

func owns(name string) bool {
	base := path.Base(name)
	return base == tfrecord.FeaturesName || base == tfrecord.InfoName || strings.HasSuffix(base, tfrecord.LabelsEnd)
}

func (c container) sampleBytes(schema []shardify.Field, _ bool) (fixed int64, factor float64) {
	if fixed = tfrecord.HeadBytes + tfrecord.TailBytes + 6; c == arrays {
		fixed = 64
	}
	for i := range schema {
		fixed += int64(len(schema[i].Name)) + 24
	}
	return fixed, 1.2 // numbers beyond 2^56 take 10 bytes
}

// keyName is the feature that has the names of samples.
const keyName = "__key__"

func (c container) check(schema []shardify.Field, keyed bool, _ format.Options) error {
	_, err := plan(schema, keyed)
	return shardify.Annotate(err, "write "+string(c), "", "")
}

// feature is how a field is written.
type feature struct {
	name  string
	field int // -1: the names of samples
	kind  tfrecord.Kind
}

// plan are the features in the order of their names. It refuses what an Example does not hold. The
// companion of an image that says its kind is left out: the image says it.
func plan(schema []shardify.Field, keyed bool) ([]feature, error) {
	var all []feature
	for i := range schema {
		f := &schema[i]
		if shardify.Companion(schema, i) {
			continue
		}
		kind, err := kindOf(f)
		if err != nil {
			return nil, shardify.Amend(err, func(e *shardify.Error) { e.Field = f.Name })
		}
		all = append(all, feature{f.Name, i, kind})
	}
	if keyed {
		all = append(all, feature{keyName, -1, tfrecord.Bytes})
	}
	sortFeatures(all)
	return all, nil
}

func kindOf(f *shardify.Field) (tfrecord.Kind, error) {
	switch {
	case f.Media != "":
		return tfrecord.Bytes, nil
	case f.Ragged:
		return 0, shardify.Unsupported("an Example has no arrays whose shapes differ: make them equal (--pad, --augment resize), or use --format mmap")
	case f.Levels > 1:
		return 0, shardify.Unsupported("an Example has no lists of lists: leave the field out with --columns, or use --format mmap")
	case f.Elem() == 0:
		return 0, shardify.Unsupported("an Example has no arrays of shape %v: use --format mmap", f.Shape)
	case f.DType == shardify.F64:
		return 0, shardify.Unsupported("an Example has no f64: --cast %s=f32 rounds the values, or use --format mmap", f.Name)
	case f.DType.IsFloat():
		return tfrecord.Floats, nil
	}
	return tfrecord.Ints, nil
}

// finish writes what TensorFlow Datasets open.
func (c container) finish(ctx context.Context, store storage.Store, set format.FinishedSet) ([]shardify.File, error) {
	features, labels, err := describe(set.Schema, set.Keyed)
	if err != nil {
		return nil, err
	}
	w := publisher{ctx: ctx, store: store}
	for _, l := range labels {
		w.put(l.name, []byte(l.text))
	}
	w.put(tfrecord.FeaturesName, features)
	w.put(tfrecord.InfoName, info(c, []split{{"train", "", set.Shards}}))
	return w.files, w.err
}

// finishSplits writes it for a set of splits.
func (c container) finishSplits(ctx context.Context, store storage.Store, splits []format.FinishedSplit) ([]shardify.File, error) {
	w := publisher{ctx: ctx, store: store}
	var all []split
	for i := range splits {
		s := &splits[i]
		all = append(all, split{s.Name, s.Name + "/", s.Shards})
		if i > 0 {
			continue
		}
		for name, err := range storage.Names(store, s.Name) { // the fields are those of every split
			if err != nil {
				return nil, err
			}
			base := path.Base(name)
			if base != tfrecord.FeaturesName && !strings.HasSuffix(base, tfrecord.LabelsEnd) {
				continue
			}
			f, err := store.Open(s.Name + "/" + base)
			if err != nil {
				return nil, err
			}
			b := make([]byte, f.Size())
			_, err = f.ReadAt(b, 0)
			f.Close()
			if err != nil && int64(len(b)) < f.Size() {
				return nil, err
			}
			w.put(base, b)
		}
	}
	w.put(tfrecord.InfoName, info(c, all))
	return w.files, w.err
}

// publisher publishes small files until one fails.
type publisher struct {
	ctx   context.Context
	store storage.Store
	files []shardify.File
	err   error
}

func (w *publisher) put(name string, b []byte) {
	if w.err != nil {
		return
	}
	if err := storage.WriteFile(w.ctx, w.store, name, b); err != nil {
		w.err = shardify.Annotate(err, "publish", name, "")
		return
	}
	w.files = append(w.files, shardify.File{Name: name, Bytes: int64(len(b)), Digest: index.DigestOf(b)})
}
