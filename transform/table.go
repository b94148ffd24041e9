package transform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/transform/expr"
)

// Names of the operations, which are those of their flags and recipe keys.
const (
	Join           = "join"
	Set            = "set"
	Fraction       = "fraction"
	Where          = "where"
	DropDuplicates = "drop-duplicates"
	Copies         = "copies"
	Patch          = format.PatchOp
	Augment        = "augment"
	Define         = "define"
	NaN            = "nan"
	Encode         = "encode"
	Tokenize       = "tokenize"
	Pick           = "pick"
	Sort           = "sort"
	Stack          = "stack"
	Pad            = "pad"
	Rename         = "rename"
	Cast           = "cast"
	Pack           = "pack"
	Sequences      = "sequences"
)

// Kind is a line of the table: one kind of operation.
type Kind struct {
	Name    string
	Help    string // one line, no full stop
	Value   string // the form of a value: NAME=EXPRESSION
	Example string // of a value
	More    string // what else is to be known about values; may be ""

	phase phase
	// keeps: the fields that it names are wanted, under their own or another name. Those
	// that other kinds name are read, and dropped unless they are asked for elsewhere.
	keeps bool
	// texts makes operations of the values; nil makes one of each.
	texts func(values []string) ([]string, error)
	// rules finds which line of a text each input has; nil if that is no matter.
	rules func(text string, table *format.Table) (ruleRuns, error)
	// random says that the seed matters; nil if it never does.
	random func(text string) bool
	// looks returns the fields that an operation names and makes; nil without any.
	looks func(text string, defs map[string]*expr.Expr) (fields, error)
	// stage compiles; a stage without a transform does nothing.
	stage func(c *compiler, text string, rules ruleRuns) (flow.Stage, error)
}

// phase is when operations run.
type phase int

const (
	first  phase = iota // before the split
	middle              // after it, and after the copies
	last                // when the fields that were read for other operations are gone
)

// fields are those that an operation names and makes.
type fields struct {
	named, made []string
	defs        map[string]*expr.Expr // how those that are made are computed, if they are
	old         map[string]string     // other names of those that are named, by the new ones
}

// Table has every kind of operation, in the order in which they run.
var Table = []Kind{
	{Name: Join, Value: "[NAME=]TABLE", Example: "truth=truth.parquet on=event_id", Help: "columns of a table, by a key", More: "take=COLUMN,... of them, missing=drop or missing=fill what has no row",
		looks: looked(func(text string) (*tableJoin, error) { return newTableJoin(text, nil) }),
		stage: func(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
			shown, _, _ := strings.Cut(text, tableLine)
			return stage(newTableJoin(text, c.side.Tables[shown]))
		}},
	{Name: Set, Value: "NAME=VALUE@GLOB", Example: "label=1@sig/*.root", Help: "a field that is constant for each input", More: "without @GLOB for all other inputs",
		texts: byName, rules: setRules, looks: looked(parseName),
		stage: func(c *compiler, text string, rules ruleRuns) (flow.Stage, error) {
			return stage(newSet(text, c.env.Table, rules))
		}},
	{Name: Fraction, Value: "GLOB=FRACTION", Example: "bg/*.root=0.5", Help: "a part of the samples of some inputs",
		texts: joined("\n"), rules: fractionRules, random: func(string) bool { return true },
		stage: func(c *compiler, text string, rules ruleRuns) (flow.Stage, error) {
			return stage(newFraction(text, c.env.Table, rules))
		}},
	{Name: Where, Value: "CONDITION", Example: "nJet >= 2 && max(Jet_pt) > 30", Help: "only samples where it holds",
		looks: lookWhere,
		stage: func(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
			return stage(newWhere(text, c.defs))
		}},
	{Name: DropDuplicates, Value: "FIELD,...", Example: "text", Help: "of samples with the same value, byte for byte, the first alone", More: "of all inputs; they are found when the plan is made",
		looks: looked(newDropDuplicates),
		stage: func(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
			d, err := newDropDuplicates(text)
			if err == nil {
				d.scratch = c.side.Scratch
			}
			return stage(d, err)
		}},
	{Name: Copies, Value: "N", Example: "4", Help: "N samples of each one, which --augment changes differently", More: "with splits only in train", phase: middle,
		texts: copiesTexts, stage: copies},
	{Name: Patch, Value: "DIM=SIZE,...[,overlap=N][,edge=drop|shift|pad][,wrap=DIM]", Example: "latitude=64,longitude=64,overlap=8", Help: "samples are patches of grids, row by row", More: "a dimension is a name or a number, 0 the first; edge says what becomes of the rest, wrap goes round; the field patch has the place", phase: middle,
		stage: ofText(newPatch)},
	{Name: Augment, Value: "[SPLIT:]NAME[=VALUE][,KEY=VALUE]...", Example: "train:noise=x,sigma=0.1", Help: "change images and arrays at random, resize, normalise", More: "the list: shardify formats --augment", phase: middle,
		stage: augmentation, random: func(text string) bool { s, err := augment.Parse(text); return err != nil || s.Op.Random }},
	{Name: Define, Value: "NAME=EXPRESSION", Example: "ht=sum(Jet_pt)", Help: "a computed field", phase: middle,
		looks: looked(newDefine), stage: ofText(newDefine)},
	{Name: NaN, Value: "[FIELD=]keep|fail|drop|fill=V", Example: "Jet_*=fill=0", Help: "how to treat NaN", phase: middle,
		texts: joined(","),
		stage: func(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
			return stage(newNaN(text, c.env.Helpers...))
		}},
	{Name: Encode, Value: "FIELD", Example: "particle", Help: "codes 0, 1, ... for the values of a text or integer field", phase: middle, keeps: true,
		texts: commaList, looks: looked(newEncode), stage: ofText(newEncode)},
	{Name: Tokenize, Value: "FIELD=FILE[ KEY=VALUE]...", Example: "text=tokenizer.json append-eod=<|endoftext|>", Help: "texts as token ids", More: "also bos=, eos=, max-tokens=N, template=add, empty=drop, special=as-text, pattern=NAME for ranks of tiktoken", phase: middle, keeps: true,
		looks: looked(func(text string) (*tokenizeField, error) { return newTokenize(text, nil) }),
		stage: func(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
			shown, _, _ := strings.Cut(text, tableLine)
			return stage(newTokenize(text, c.side.Tokenizers[shown]))
		}},
	{Name: Pick, Value: "NAME=K[,...]", Example: "pulses=128,prefer=!auxiliary", Help: "K elements of longer lists, drawn, in their order", More: "first, last or top=[-]FIELD instead of drawing; those that prefer=[!]FIELD marks never lose to others", phase: middle,
		looks:  looked(func(text string) (*pickLists, error) { return newPick(text, nil) }),
		random: func(text string) bool { p, err := newPick(text, nil); return err != nil || p.draws() },
		stage: func(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
			return stage(newPick(text, c.env.Table))
		}},
	{Name: Sort, Value: "NAME=[-]FIELD", Example: "Jet=-Jet_pt", Help: "order lists by one of them", phase: middle,
		looks: looked(unstacked), stage: sortStage},
	{Name: Stack, Value: "NAME=FIELD,...", Example: "jets=Jet_pt,Jet_eta", Help: "one field of several", phase: last, keeps: true,
		texts: joined("\n"), looks: looked(newStack), stage: ofText(newStack)},
	{Name: Pad, Value: "NAME=LENGTH[:VALUE]", Example: "jets=128", Help: "lists of one length, and a mask", phase: last,
		looks: looked(newPad), stage: ofText(newPad)},
	{Name: Rename, Value: "NEW=OLD,...", Example: "pt=Jet_pt", Help: "other names", phase: last, keeps: true,
		texts: joined(","), looks: looked(newRename), stage: ofText(newRename)},
	{Name: Cast, Value: "FIELD=DTYPE,...", Example: "x=f32,f64=f32", Help: "other types", More: "* is all floating fields, f64=f32 selects fields by type", phase: last, keeps: true,
		texts: joined(","), looks: looked(newCast), stage: ofText(newCast)},
	{Name: Pack, Value: "NAME=GLOB,...", Example: "features=ht,MET_*", Help: "scalars as one field", phase: last, keeps: true,
		texts: joined("\n"), looks: looked(newPack), stage: ofText(newPack)},
	{Name: Sequences, Value: "FIELD=LENGTH[,best-fit|concat]", Example: "text=2048,best-fit", Help: "documents of tokens packed into sequences of one length, and their lens", More: "best-fit cuts none that fits; concat fills all; also pad=TOKEN (0), last=drop", phase: last, keeps: true,
		texts: once("sequences"), looks: looked(newSequences), stage: packer},
}

// Lookup finds a line of the table; nil if no line has that name.
func Lookup(name string) *Kind {
	if i := lineOf(name); i >= 0 {
		return &Table[i]
	}
	return nil
}

// lineOf is when operations of a name run, -1 if there is no such kind.
func lineOf(name string) int {
	return slices.IndexFunc(Table, func(k Kind) bool { return k.Name == name })
}

// Random says whether samples depend on the seed by one of some operations.
func Random(list []plan.Op) bool {
	return slices.ContainsFunc(list, func(o plan.Op) bool {
		k := Lookup(o.Name)
		return k != nil && k.random != nil && k.random(strings.Join(Shown(o), "\n"))
	})
}

// Usage is the help of the kind's flag: the form of a value in backquotes, and what it does.
func (k *Kind) Usage() string {
	s := "`" + k.Value + "`: " + k.Help + ", as in '" + k.Example + "'"
	if k.More != "" {
		s += "; " + k.More
	}
	return s
}

// New makes a single transform of a value. The table has the inputs that globs in the
// value are for; it may be nil.
func New(kind, value string, table *format.Table) (shardify.Transform, error) {
	k := Lookup(kind)
	if k == nil {
		return nil, shardify.Unsupported("no operation %q", kind)
	}
	c := compiler{env: flow.Env{Table: table}, pipe: &flow.Pipeline{}}
	s, err := k.stage(&c, value, nil)
	if err == nil && s.Transform == nil {
		err = shardify.Unsupported("--%s is not a transform", kind)
	}
	return s.Transform, err
}

// stage is a stage for all splits.
func stage[T shardify.Transform](t T, err error) (flow.Stage, error) {
	return flow.Stage{Transform: t}, err
}

// ofText is the stage of a transform that follows from its text alone.
func ofText[T shardify.Transform](make func(string) (T, error)) func(*compiler, string, ruleRuns) (flow.Stage, error) {
	return func(_ *compiler, text string, _ ruleRuns) (flow.Stage, error) { return stage(make(text)) }
}

// packer is what makes sequences.
func packer(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
	s, err := newSequences(text)
	c.pipe.Packer = s
	return flow.Stage{}, err
}

func copies(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return flow.Stage{}, shardify.Corrupt(-1, "copies %q", text)
	}
	c.pipe.Copies = n
	if slices.Contains(c.env.Splits, trainSplit) { // copies of validation samples add no information
		c.pipe.CopySplits = []string{trainSplit}
	}
	return flow.Stage{}, nil
}

// sortStage sorts the parts of a stack, where the name is that of one.
func sortStage(c *compiler, text string, _ ruleRuns) (flow.Stage, error) {
	var parts []string
	if target, _, ok := strings.Cut(text, "="); ok && c.stack != nil {
		parts = c.stack.Parts(strings.TrimSpace(target))
	}
	return stage(newSort(text, parts))
}

// joined makes one operation of all values.
func joined(sep string) func([]string) ([]string, error) {
	return func(values []string) ([]string, error) { return []string{strings.Join(values, sep)}, nil }
}

// commaList makes an operation of each word.
func commaList(values []string) ([]string, error) {
	return strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' }), nil
}

// once takes one value.
func once(name string) func([]string) ([]string, error) {
	return func(values []string) ([]string, error) {
		if len(values) > 1 {
			return nil, fmt.Errorf("--%s is there %d times", name, len(values))
		}
		return values, nil
	}
}

func copiesTexts(values []string) ([]string, error) {
	n, err := strconv.Atoi(values[len(values)-1])
	if err != nil || n < 1 || n > 1<<16 {
		return nil, fmt.Errorf("--copies %s: want a number from 1 to 65536", values[len(values)-1])
	}
	if n == 1 {
		return nil, nil
	}
	return []string{strconv.Itoa(n)}, nil
}

// byName joins the values that set one field.
func byName(values []string) ([]string, error) {
	var names, out []string
	for _, v := range values {
		n, _ := parseName(v)
		name := string(n)
		if i := slices.Index(names, name); i >= 0 {
			out[i] += "\n" + v
			continue
		}
		names, out = append(names, name), append(out, v)
	}
	return out, nil
}

// setName is the field that a value of --set is for.
type setName string

func parseName(value string) (setName, error) {
	name, _, _ := strings.Cut(value, "=")
	name, _, _ = strings.Cut(name, ":")
	return setName(strings.TrimSpace(name)), nil
}

func (n setName) fields() fields { return fields{made: []string{string(n)}} }

func setRules(text string, table *format.Table) (ruleRuns, error) {
	s, err := newSet(text, table, nil)
	if err != nil {
		return nil, err
	}
	return s.in, nil
}

func fractionRules(text string, table *format.Table) (ruleRuns, error) {
	f, err := newFraction(text, table, nil)
	if err != nil {
		return nil, err
	}
	return f.in, nil
}

// looked returns what an operation names and makes, from its transform.
func looked[T interface{ fields() fields }](make func(string) (T, error)) func(string, map[string]*expr.Expr) (fields, error) {
	return func(text string, _ map[string]*expr.Expr) (fields, error) {
		x, err := make(text)
		if err != nil {
			return fields{}, err
		}
		return x.fields(), nil
	}
}

func lookWhere(text string, defs map[string]*expr.Expr) (fields, error) {
	return looked(func(text string) (*whereFilter, error) { return newWhere(text, defs) })(text, nil)
}

// unstacked sorts by a field that is not known to be a part of a stack.
func unstacked(text string) (*sortLists, error) { return newSort(text, nil) }
