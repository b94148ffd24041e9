// Package tfrecord reads TFRecord files, plain or packed by gzip or zlib: a record is a sample. The
// features of tf.train.Example and SequenceExample become fields, by the keys and lengths in all records;
// beside features.json of TensorFlow Datasets by what that says. Package index/tfrecord has the bytes,
// package schema what becomes of them.
package tfrecord

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// Format is the line of the readers' table.
var Format = format.Input{
	Name: "tfrecord", Words: []string{"tfrecords", "tfds", "rlds"},
	Help:    "TFRecord of tf.train.Example, plain, gzip or zlib; folders of TensorFlow Datasets",
	Sniff:   sniff,
	Mark:    tfrecord.FeaturesName,
	StandIn: func(string) string { return "" }, // the folder of a set, for its manifest
	Options: options,
	Open:    open,
}

const (
	optRecords = "records"
	optParts   = "missing-parts"
	optSample  = "sample"
	bySteps    = "step"
)

var options = []format.Option{
	format.OptText,
	{Name: optRecords, Idle: format.Always, Kind: format.KindEnum, Default: "example", Quiet: true, Values: []string{"example", "bytes", "json"},
		Help: "what records are: Example or SequenceExample; any bytes, or JSON, as the one field record"},
	{Name: optSample, Idle: format.Always, Kind: format.KindEnum, Default: "record", Values: []string{"record", bySteps},
		Help: "what one sample is: a record; step: a step of one, such as an episode of RLDS, with what the record has once"},
	{Name: optParts, Idle: format.Permission, Kind: format.KindEnum, Default: "fail", Quiet: true, Values: []string{"fail", "ignore"},
		Help: "parts of a set of files (-00001-of-00003) that are not there: refuse, or read the others"},
	survey.Option,
}

// ends are the names of such files. In those of sets of parts it is in the middle.
var ends = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.(tfrecords?|tfrec)(-\d+-of-\d+)?(\.gz|\.zlib|\.gzip)?$`)
})

var ours = dataset.Sniffer(setFormat)

// setFormat is the format of sets of ours.
const setFormat = "tfrecord"

func sniff(head []byte, name string) bool {
	return ours(head, name) || ends().MatchString(strings.ToLower(name)) || len(head) > 0 && tfrecord.Recognize(head) == tfrecord.Plain
}

// checkParts refuses sets of files of which parts are missing.
func checkParts(t *format.Table) error {
	type parts struct {
		have  map[int]bool
		of    int
		first int
	}
	sets := map[string]*parts{}
	var order []string
	for i := range t.Len() {
		path := t.Path(i)
		name, part, of, ok := tfrecord.PartOf(path[strings.LastIndexByte(path, '/')+1:])
		if !ok {
			continue
		}
		name = storage.Join(storage.Dir(path), name)
		if sets[name] == nil {
			sets[name] = &parts{map[int]bool{}, of, i}
			order = append(order, name)
		}
		sets[name].have[part] = true
	}
	for _, name := range order {
		p := sets[name]
		for k := range p.of {
			if !p.have[k] {
				err := shardify.Mismatch("%d parts of a set of %d files are there, part %d is missing; --%s ignore reads the others", len(p.have), p.of, k, optParts)
				return shardify.Annotate(format.Cure(err, format.With(optParts, "ignore", "samples of the parts that are there")), "open", t.Shown(p.first), "")
			}
		}
	}
	return nil
}

// described is what TensorFlow Datasets have beside the files of a folder.
type described struct {
	features []byte
	info     *tfrecord.Info
}

// most bounds what is read of a file beside the shards.
const most = 64 << 20

// describe reads what there is in a folder.
func (s *source) describe(ctx context.Context, dir string) (*described, error) {
	d := &described{}
	for _, name := range []string{tfrecord.FeaturesName, tfrecord.InfoName} {
		b, err := s.beside(ctx, storage.Join(dir, name))
		if err != nil || b == nil {
			return d, err
		}
		if name == tfrecord.FeaturesName {
			d.features = b
		} else if d.info, err = tfrecord.ParseInfo(b); err != nil {
			return nil, shardify.Annotate(err, "open", storage.Join(dir, name), "")
		}
	}
	return d, nil
}

// beside reads a file that need not be there: nil.
func (s *source) beside(ctx context.Context, path string) ([]byte, error) {
	if st, err := s.fs.Stat(ctx, path); err != nil || st.Type != storage.Regular {
		return nil, nil
	}
	return storage.ReadOwn(ctx, s.fs, path, most)
}

// several refuses files of several splits, which do not mix.
func several(splits []string) error {
	return format.NewAmbiguous(fmt.Sprintf("the inputs are of several splits (%s), %s says; name the files of one", strings.Join(splits, ", "), tfrecord.InfoName),
		[]format.Way{format.With(format.SplitFrom, "objects", "a data set for each of them")})
}
