package format

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Reopener is a Source of files that may be read again after an error that a network file
// system gives for a moment: after Reopen, new readers open the files again.
type Reopener interface{ Reopen() }

// Ranger is a Source whose readers of run 0 read any samples of an input at once, whatever
// the spans that it gave.
type Ranger interface{ ReadsRanges() }

// Collector is a Source whose samples are spread over all inputs: they are collected in
// scratch files, in front of the first span that is read. It may be asked again, for other
// spans. A nil store is the system's folder for temporary files.
type Collector interface {
	Collect(ctx context.Context, spans []shardify.Span, pool *shardify.Pool, jobs int, store storage.Store) error
	// CollectBytes is about how many bytes the scratch files of all spans take, 0 without any.
	CollectBytes() int64
}

// Skip is samples [Lo, Hi) of an input that are left out because they are damaged; all of
// an input whose samples cannot be counted if Lo is Hi.
type Skip struct {
	Input  string `json:"input"`
	Object string `json:"object,omitempty"`
	Lo     int64  `json:"lo"`
	Hi     int64  `json:"hi"`
	Reason string `json:"reason"`
}

// Skipper is a Source that left out damaged inputs when it was opened, as
// OpenArgs.SkipDamaged wants it. One that is opened with a State need not know them.
type Skipper interface{ Skipped() []Skip }

// Skippable is damage without which something is left to convert: what --on-error skip
// is for. It says what Err says.
type Skippable struct{ Err error }

func (s *Skippable) Error() string { return s.Err.Error() }

// Unwrap is Err.
func (s *Skippable) Unwrap() error { return s.Err }

// Leftover names a field or file that a source does not deliver, and why.
type Leftover struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Count  int64  `json:"count,omitempty"` // files left out for this reason; 0 means one field
	Unit   string `json:"unit,omitempty"`  // what Count counts, if no files: "row"
	// Unreadable: the field has values, of a type or in a form that is not read. Else it
	// is no column of the samples.
	Unreadable bool `json:"unreadable,omitempty"`
	// Err is the reason as an error, if there is one. What is damaged cannot be left out: the
	// code that collects the Leftovers of a reader returns it.
	Err error `json:"-"`
}

// Unread leaves out a field that cannot be read.
func Unread(name string, err error) Leftover {
	return Leftover{Name: name, Reason: Reason(err), Unreadable: true, Err: err}
}

// Reporter is a Source that left something out: fields it cannot read, files
// that are no samples.
type Reporter interface{ Leftovers() []Leftover }

// Strayer is a Source that found inputs which are no samples. They are taken out of the
// table, and it is opened again: no split and no plan has to know them.
type Strayer interface {
	Strays() (inputs []uint32, left []Leftover)
}

// Constant is a Source that has fields which are the same for all samples, beside those of its schema: names of columns,
// say. Static reads them, as columns of one sample: those that a set of it always has, and those that
// are wanted by name or glob.
type Constant interface {
	Static(ctx context.Context, wanted []string, pool *shardify.Pool) ([]shardify.Column, error)
}

// Stater is a Source whose survey of the inputs is worth keeping in the plan,
// so that each task need not repeat it. It comes back as OpenArgs.State.
type Stater interface{ State() ([]byte, error) }

// Pager is a Stater with much to keep: its State is small, and pages are beside it, each of which is
// read when samples need it. They come back as OpenArgs.Page. There may be none.
type Pager interface {
	Pages() int
	Page(i int) ([]byte, error)
}

// Keyer is a Source that says whether its samples have names of their own; without
// it they do not. (Batches may carry Keys all the same, as the names that rows had
// in a tar: a sink that must write names keeps them.) CheckKeys applies a sink's rule to every key and reports all that
// break it in one error with count, examples and cure.
type Keyer interface {
	Keyed() bool
	CheckKeys(memberMax int, check func(key []byte) error) error
}

// Columnar is a Keyer whose fields are columns of arrays and tables, though its samples may
// have names: texts and bytes are values there, not files.
type Columnar interface{ Columnar() bool }

// HasFiles reports whether the samples of a source are files with names, such as an image
// and its text.
func HasFiles(s shardify.Source) bool {
	k, ok := s.(Keyer)
	if !ok || !k.Keyed() {
		return false
	}
	c, ok := s.(Columnar)
	return !ok || !c.Columnar()
}

// Describer is a Source that knows more about its inputs than the schema says:
// how they are stored, which axis is the sample axis and why. One fact a line,
// for people.
type Describer interface{ Describe() []string }

// Arrayed is a Source of files of arrays: a sample is a row of all of them, or by file one file.
type Arrayed interface{ ByFile() bool }

// Noter is a Source that did something to make its inputs fit together, such as
// widening a type: what people should know before they convert. One fact a line.
type Noter interface{ Notes() []string }

// Piecer is a Source that knows from its survey which part of its inputs is the largest
// of those that are decoded whole: what, and its decoded bytes; 0 if it does not know.
type Piecer interface {
	LargestPiece() (what string, bytes int64)
}

// Passer is a Source that passes columns of a large sample on in pieces where a span allows it
// with Stream. Held is the bytes of the others.
type Passer interface{ Held(shardify.Span) int64 }

// Previewer is a Source that can show some values of a field without decoding what is stored
// around them: at most as many as wanted, from places spread over the inputs, the same ones
// every time. A value may be cut short, and there may be none.
type Previewer interface {
	Preview(ctx context.Context, field string, values int, yield func(value []byte))
}

// ObjectNamer names Proof.Object for errors, and the file it is in, "" if that is the input.
type ObjectNamer interface {
	ObjectName(input, object uint32) (file, name string)
}

// ItemCounter is a Source that knows how many items the lists of a counter have in a span, from
// the plan: sinks then write columns in place that else wait for their size.
type ItemCounter interface {
	Items(shardify.Span) (counter string, n int64, ok bool)
}

// Owner is a Source whose spans number samples over many inputs (in a folder of files
// each file is one). Owner names the input that sample i of a span's input is known by:
// what labels by input, splits and random choices go by. There the sample is number 0.
type Owner interface {
	Owner(input uint32, sample int64) uint32
}

// Foldered is a Source whose samples may be in other folders than their files: those whose files
// are in parallel folders. Folders has the inputs under the names by which they are samples; nil
// if those are their own. Named is then the sample that an input is a file of, and false for one of no sample.
type Foldered interface {
	Folders() *Table
	Named(input int) (string, bool)
}

// FoldersOf is the names of the inputs by which folders are splits.
func FoldersOf(src shardify.Source, t *Table) *Table {
	if f, ok := src.(Foldered); ok {
		if named := f.Folders(); named != nil {
			return named
		}
	}
	return t
}

// Splitter is a Source whose files may hold splits of their own, such as /train and /test.
// Splits says where they are, in the order of the samples; nil without any. It is called
// after a survey alone, which OpenArgs.Splits must have asked for.
type Splitter interface{ Splits() []SplitRange }

// SplitRange is the samples of an input, from the end of the range before up to End, that
// belong to a split.
type SplitRange struct {
	Input uint32
	End   int64
	Name  string
}

// Framer is a Sink that takes frames.
type Framer interface {
	// NextFrame returns, between writes, the Lead that the next frame should have, and
	// after how many bytes it should best end.
	NextFrame() (lead int, bytes int64)
}

// Fitter is a Reader that knows the sizes of values before it reads them.
type Fitter interface {
	// Fit returns how many samples of a span that has a frame it takes to fill n bytes of
	// it behind the Lead; all, if they do not fill it.
	Fit(s shardify.Span, n int64) int64
}

// Reason is an error's text without the place and without the kinds that the reader of
// a Leftover knows.
func Reason(err error) string {
	var e *shardify.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return shardify.Plain(err)
}
