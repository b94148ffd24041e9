package root

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Format is the readers' table's line for ROOT files.
var Format = format.Input{
	Name:    "root",
	Help:    "ROOT files: TTree and RNTuple",
	Sniff:   sniff,
	Options: options,
	Open:    open,
	Outline: outline,
}

var options = []format.Option{
	{Name: "object", Idle: format.Always, Kind: format.KindString, Help: "path of the tree in the files, such as Events or dir/tree;2; needed if there are several"},
	{Name: "friend", Idle: format.Always, Kind: format.KindString,
		Help: "trees with further columns of the same entries: FILE, FILE:TREE or :TREE, separated by commas; {} in FILE is the input's name"},
	{Name: "on", Idle: format.Always, Kind: format.KindString,
		Help: "fields with the keys by which --friend is joined, such as run,event or run=runNumber,event; without it friends are joined by entry"},
	{Name: "unmatched", Idle: format.Permission, Kind: format.KindEnum, Default: "fail", Values: []string{"fail", "fill"},
		Help: "entries whose key --friend lacks: refuse, or make its fields missing there"},
	{Name: "repeated", Idle: format.Permission, Kind: format.KindEnum, Default: "fail", Values: []string{"fail", "allow"},
		Help: "several entries of the main tree with one key of --on: refuse, or give all of them the same entry of the friend"},
	{Name: "counters", Kind: format.KindEnum, Default: "share", Values: []string{"share", "own"}, Idle: "no branches have equal counters",
		Help: "branches of a collection (Jet_pt, Jet_eta) whose counters are equal share one offsets tensor, or each has its own"},
	format.OptText,
	survey.Option,
	format.GroupedItems,
}

var magic = []byte("root")

// sniff: behind the magic comes a version of four bytes, of which the first is always
// 0; in a text that begins with the word it is not.
func sniff(head []byte, name string) bool {
	named := strings.EqualFold(filepath.Ext(name), ".root")
	if len(head) > 0 {
		return bytes.HasPrefix(head, magic) && (named || len(head) > 4 && head[4] == 0)
	}
	return named
}

// source is many inputs as one table.
type source struct {
	*set.Table[*joined]
	fs      storage.FS
	want    *columns.Wanted
	opts    format.Options
	friends []friend
	on      []keyPair
	used    *format.Used

	mu      sync.Mutex
	indexes map[friend]*keyIndex
}

// errState is about a plan that does not fit its files.
var errState = errors.New("the plan does not fit the file: other columns than at the survey")

func open(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
	opts, err := format.CheckOptions(options, a.Options)
	if err != nil {
		return nil, err
	}
	s := &source{fs: storages.Of(a.Table), opts: opts, used: a.Used, friends: parseFriends(ctx, storages.Of(a.Table), opts["friend"])}
	if s.on, err = parseOn(opts["on"]); err != nil {
		return nil, err
	}
	if s.on != nil && len(s.friends) == 0 {
		return nil, errors.New("--on goes with --friend")
	}
	if s.on == nil && (opts["unmatched"] == "fill" || opts["repeated"] == "allow") {
		return nil, errors.New("--unmatched and --repeated go with --on")
	}
	if err := checkFriends(s.friends, a.Table.Len()); err != nil && s.on == nil {
		return nil, err
	}
	if s.want, err = columns.New(a.Columns); err != nil {
		return nil, err
	}
	a.Options = format.Options{survey.Option.Name: opts[survey.Option.Name]}
	all, err := survey.Open(ctx, a, survey.Format{
		Name: "ROOT", Look: s.look, Oversize: oversize,
		Key: stateKey(opts),
	})
	if err != nil {
		return nil, err
	}
	s.Table = set.NewTable(all, s.acquire, func() shardify.Reader { return set.NewReader(s.Table, &reader{}) })
	return s, nil
}

// stateKey is what the survey depends on beside the files. Options at their default are left
// out if they came later than others: plans stay what they were.
func stateKey(opts format.Options) string {
	key := fmt.Sprintf("1\x00%s\x00%s\x00%s", opts["object"], opts["friend"], opts["text"])
	if opts["counters"] == "own" {
		key += "\x00own"
	}
	if opts["on"] != "" {
		key += "\x00" + opts["on"] + "\x00" + opts["unmatched"]
	}
	return key
}

// oversize is how many targets the baskets between two borders may be long before
// they are cut inside, which reads some of them twice.
const oversize = 48

// blob is what a plan keeps of a file: fields found to be unreadable.
type blob struct {
	Bad map[string]string `json:"bad,omitempty"`
	// Friends are the sizes of files that are joined by key.
	Friends []int64 `json:"friends,omitempty"`
}

// look surveys one file.
func (s *source) look(ctx context.Context, path string, want *columns.Wanted) (*survey.Facts, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	j, err := s.openJoined(ctx, f, filepath.Base(path), path)
	if err != nil {
		f.Close()
		return nil, err
	}
	defer j.Close()
	left, err := j.choose(want, nil)
	if err != nil {
		return nil, err
	}
	var state blob
	if bad := j.try(); len(bad) > 0 {
		state.Bad = bad
		if left, err = j.choose(want, bad); err != nil {
			return nil, err
		}
	}
	state.Friends = j.sizes()
	facts := &survey.Facts{Samples: j.tables[0].entries(), Size: f.Size(), Left: left, Damaged: j.damaged, Borders: j.borders()}
	if facts.Blob, err = json.Marshal(state); err != nil {
		return nil, err
	}
	says := j.equalLists()
	if len(says) > 0 {
		s.used.Mark("counters")
	}
	if s.opts["counters"] == "own" {
		says = nil
	}
	for _, i := range j.wanted {
		f := &j.list[i]
		fd := f.Field
		if fd.Media == "txt" && s.opts["text"] == "bytes" {
			fd.Media = "bin"
			s.used.Mark("text")
		}
		facts.Fields = append(facts.Fields, survey.Field{Field: fd, Bytes: f.bytes, LengthClass: says[i]})
	}
	for t, k := range j.keyed {
		if k == nil {
			continue
		}
		if err := k.check(ctx, j.tables[0]); err != nil {
			return nil, errors.Join(j.failed(), err)
		}
		if n := indexBytes(j.tables[t].entries(), len(k.names)); n > facts.PieceBytes {
			facts.Piece, facts.PieceBytes = "the keys of friend "+k.path, n
		}
	}
	for _, t := range j.tables {
		facts.Lines = append(facts.Lines, t.describe()...)
	}
	return facts, j.failed()
}

// acquire opens a file for reading.
func (s *source) acquire(ctx context.Context, f storage.File, in *set.Input) (*joined, error) {
	var state blob
	if err := json.Unmarshal(in.Blob, &state); err != nil {
		return nil, errState
	}
	j, err := s.openJoined(ctx, f, in.Name(), in.Path())
	if err != nil {
		return nil, err
	}
	if !slices.Equal(j.sizes(), state.Friends) {
		err = fmt.Errorf("%w: a file of --friend has another size than when the plan was made", shardify.ErrChanged)
	}
	if err != nil {
		for _, g := range j.files[1:] {
			g.Close()
		}
		return nil, err
	}
	if _, err := j.choose(s.want, state.Bad); err != nil || j.tables[0].entries() != in.Samples {
		for _, g := range j.files[1:] {
			g.Close()
		}
		return nil, errState
	}
	return j, nil
}
