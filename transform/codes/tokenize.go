package codes

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tokenize"
	"github.com/shardify/shardify/transform/op"
)

// Tokenize makes token ids of texts.
var Tokenize = op.Kind{Name: "tokenize", Value: "FIELD=FILE[ KEY=VALUE]...", Example: "text=tokenizer.json append-eod=<|endoftext|>", Help: "texts as token ids", More: "also bos=, eos=, max-tokens=N, template=add, empty=drop, special=as-text, pattern=NAME for ranks of tiktoken",
	Phase: op.AfterSplit, Keeps: true, New: op.Of(newTokenize), Fields: op.FieldsOf(newTokenize)}

// TokenizeSpec is a value of --tokenize: a field of text, and the file of a tokenizer.
type TokenizeSpec struct {
	Field, File string
	words       []string // KEY=VALUE
	pattern     string
	bos, eos    string // tokens or ids around each text; "" for no token
	end         string // after each text, behind all others
	most        int    // tokens of a text, 0 for all
	template    bool   // what the tokenizer's file puts around texts, too
	drop        bool   // texts without tokens
	special     tokenize.Specials
}

// specials are the words for tokenize.Specials.
var specials = []string{"as-token", "as-text", "refuse"}

// ParseTokenize parses FIELD=FILE[ KEY=VALUE]...
func ParseTokenize(text string) (t TokenizeSpec, err error) {
	words := strings.Fields(text)
	for ; len(words) > 1; words = words[:len(words)-1] {
		last := words[len(words)-1]
		key, value, _ := strings.Cut(last, "=")
		ok := value != ""
		switch key {
		case "pattern":
			t.pattern = value
		case "bos":
			t.bos = value
		case "eos":
			t.eos = value
		case "append-eod":
			t.end = value
		case "max-tokens":
			t.most, err = strconv.Atoi(value)
			ok = err == nil && t.most > 0
		case "template":
			t.template, ok = true, value == "add"
		case "special":
			k := slices.Index(specials, value)
			t.special, ok = tokenize.Specials(max(k, 0)), k >= 0
		case "empty":
			t.drop, ok = value == "drop", value == "drop" || value == "keep"
		default:
			ok = false
		}
		if !ok {
			return t, badTokenize(text)
		}
		t.words = append(t.words, last)
	}
	slices.Reverse(t.words)
	rest := strings.Join(words, " ")
	t.Field, t.File, _ = strings.Cut(rest, "=")
	t.Field, t.File = strings.TrimSpace(t.Field), strings.TrimSpace(t.File)
	if t.Field == "" || t.File == "" {
		return t, badTokenize(text)
	}
	return t, op.FlagError("tokenize", text, shardify.ValidName(t.Field))
}

func badTokenize(text string) error {
	return op.FlagError("tokenize", text, fmt.Errorf("want FIELD=FILE[ append-eod=TOKEN][ bos=TOKEN][ eos=TOKEN][ max-tokens=N][ template=add][ special=as-token|as-text|refuse][ empty=keep|drop][ pattern=NAME], as in --tokenize 'text=tokenizer.json append-eod=<|endoftext|>'"))
}

// Text is the value that ParseTokenize reads.
func (t TokenizeSpec) Text() string {
	return strings.Join(append([]string{t.Field + "=" + t.File}, t.words...), " ")
}

// Tokenizer is the file of a tokenizer that is read.
type Tokenizer struct {
	tok    *tokenize.Tokenizer
	Digest string // says what was in the file
	// Notes say which kind of file it is, and what of it has no effect.
	Notes []string
}

// OpenTokenizer reads a file for the values that name it.
func OpenTokenizer(t TokenizeSpec, data []byte) (*Tokenizer, error) {
	tok, err := tokenize.Load(data, tokenize.Options{Pattern: t.pattern})
	if err != nil {
		return nil, shardify.Annotate(err, "open", t.File, "")
	}
	sum := sha256.Sum256(data)
	what := fmt.Sprintf("%s, %s with %d ids", tok.Kind, tok.Model, tok.Size)
	out := &Tokenizer{tok: tok, Digest: what + ", sha256 " + hex.EncodeToString(sum[:])}
	out.Notes = append(out.Notes, t.Field+" is tokenized by "+t.File+": "+what)
	for _, n := range tok.Notes {
		out.Notes = append(out.Notes, t.File+": "+n)
	}
	return out, nil
}

// Measure calls tell for each text with its bytes, words and tokens, without the tokens put around
// it.
func (t *Tokenizer) Measure(texts iter.Seq[[]byte], tell func(bytes, words, tokens int64)) error {
	enc := t.tok.NewEncoder()
	var ids []int32
	for text := range texts {
		var err error
		if ids, err = enc.Append(ids[:0], text); err != nil {
			return err
		}
		tell(int64(len(text)), tokenize.Words(text), int64(len(ids)))
	}
	return nil
}

// idType is the type of ids below size: u16 where trainers expect it, else i32.
func idType(size int) shardify.DType {
	if size < 65500 { // the bound of Megatron-LM
		return shardify.U16
	}
	return shardify.I32
}

// outside is how many ids behind the last rank special tokens may have: files of ranks do not
// hold them.
const outside = 1024

// limit is what ids that a user names are below.
func (t *Tokenizer) limit() int {
	if t.tok.Kind == tokenize.Ranks {
		return t.tok.Size + outside
	}
	return t.tok.Size
}

// tokenizeField makes lists of ids of texts.
type tokenizeField struct {
	TokenizeSpec
	text          string
	with          *Tokenizer
	col, n        int
	dtype         shardify.DType
	before, after []int32
	workers       sync.Pool // of *tokenWorker
}

// tokenWorker is what one goroutine needs.
type tokenWorker struct {
	enc  *tokenize.Encoder
	ids  []int32
	data []byte
}

func newTokenize(e *op.Env, text string) (*tokenizeField, error) {
	spec, err := ParseTokenize(text)
	if err != nil {
		return nil, err
	}
	with, _ := e.Beside.(*Tokenizer)
	if with != nil && e.Changed(with.Digest) {
		return nil, fmt.Errorf("--tokenize '%s': the tokenizer is not what it was when the plan was made (%s, now %s): %w", text, e.Digest, with.Digest, shardify.ErrChanged)
	}
	return &tokenizeField{TokenizeSpec: spec, text: text, with: with}, nil
}

func (t *tokenizeField) Fields() op.Fields { return op.Fields{Named: []string{t.Field}} }

// Schema makes the field a list of ids.
func (t *tokenizeField) Schema(in []shardify.Field) ([]shardify.Field, error) {
	if t.with == nil {
		return nil, shardify.Unsupported("--tokenize '%s': the tokenizer is not open", t.text)
	}
	i, err := op.Lookup(in, t.Field)
	if err != nil {
		return nil, op.TextError(t.text, err)
	}
	f := in[i]
	switch {
	case !format.IsText(f.Media):
		return nil, op.TextError(t.text, fmt.Errorf("%s holds %s; texts are tokenized", f.Name, op.Holds(&f)))
	case f.Levels != 1:
		return nil, op.TextError(t.text, fmt.Errorf("%s has lists of texts; one text of a sample is tokenized", f.Name))
	}
	if err := t.around(); err != nil {
		return nil, op.TextError(t.text, err)
	}
	size := t.with.tok.Size
	for _, id := range slices.Concat(t.before, t.after) {
		size = max(size, int(id)+1)
	}
	t.col, t.n, t.dtype = i, len(in), idType(size)
	f.DType, f.Media, f.Counter, f.Nullable, f.Attrs = t.dtype, "", "", false, nil
	out := slices.Clone(in)
	out[i] = f
	return out, nil
}

// around finds the ids that are put around texts.
func (t *tokenizeField) around() error {
	t.before, t.after = nil, nil
	if t.template {
		before, after := t.with.tok.Template()
		t.before, t.after = slices.Clone(before), slices.Clone(after)
	}
	bos, err := t.ids("bos", t.bos)
	if err != nil {
		return err
	}
	eos, err := t.ids("eos", t.eos)
	if err != nil {
		return err
	}
	end, err := t.ids("append-eod", t.end)
	t.before, t.after = slices.Concat(bos, t.before), slices.Concat(t.after, eos, end)
	if n := len(t.before) + len(t.after); err == nil && t.most > 0 && t.most <= n {
		err = fmt.Errorf("max-tokens=%d leaves no room for text: %d tokens are put around it", t.most, n)
	}
	return err
}

// ids is the id of a token, or the number of one.
func (t *tokenizeField) ids(key, token string) ([]int32, error) {
	if token == "" {
		return nil, nil
	}
	id, named := t.with.tok.ID(token)
	n, err := strconv.ParseUint(token, 10, 31)
	switch number := err == nil; {
	case named && number && int32(n) != id:
		return nil, fmt.Errorf("%s=%s: token %q has id %d: name the token that is meant", key, token, token, id)
	case named:
		return []int32{id}, nil
	case !number:
		return nil, fmt.Errorf("%s=%s: %s has no such token", key, token, t.File)
	case int(n) >= t.with.limit():
		return nil, fmt.Errorf("%s=%s: the tokenizer has ids below %d", key, token, t.with.limit())
	}
	return []int32{int32(n)}, nil
}

// Cost is a token for each byte, which few texts reach, and the tokens around the text.
func (t *tokenizeField) Cost([]shardify.Field) shardify.Cost {
	size := t.dtype.Size()
	return shardify.Cost{Growth: float64(size), Sample: int64(8 + size*(len(t.before)+len(t.after)))}
}

// Apply tokenizes each text for itself.
func (t *tokenizeField) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, t.n); err != nil {
		return nil, err
	}
	w, _ := t.workers.Get().(*tokenWorker)
	if w == nil {
		w = &tokenWorker{enc: t.with.tok.NewEncoder()}
		w.enc.Specials = t.special
	}
	defer t.workers.Put(w)
	out := op.Fork(b)
	in, to := &b.Columns[t.col], &out.Columns[t.col]
	lists := mem.Int64s(b.Samples + 1)
	w.data, lists[0] = w.data[:0], 0
	var empty, cut, words int64
	seen := w.enc.Counts()
	for i := range b.Samples {
		text := in.Data[in.Offsets[0][i]:in.Offsets[0][i+1]]
		if in.Valid != nil && in.Valid[i] == 0 {
			text = nil
		}
		words += tokenize.Words(text)
		ids, err := w.enc.Append(append(w.ids[:0], t.before...), text)
		if err != nil {
			return nil, op.AtSample(op.TextError(t.text, err), b, i)
		}
		w.ids = ids
		if len(ids) == len(t.before) {
			ids = nil
			empty++
		} else {
			if n := t.most - len(t.after); t.most > 0 && len(ids) > n {
				ids = ids[:n]
				cut++
			}
			ids = append(ids, t.after...)
			w.ids = ids
		}
		w.data = t.put(w.data, ids)
		lists[i+1] = lists[i] + int64(len(ids))
	}
	to.Field.DType, to.Media, to.Counter, to.Nullable, to.Attrs = t.dtype, "", "", false, nil
	to.Valid, to.Offsets = nil, [][]int64{lists}
	to.Data = mem.Alloc(len(w.data))
	copy(to.Data, w.data)
	now := w.enc.Counts()
	op.Count(out, int64(b.Samples)-empty, tokenize.CountDocuments, t.Field)
	op.Count(out, lists[b.Samples], tokenize.CountTokens, t.Field)
	op.Count(out, in.Offsets[0][b.Samples], tokenize.CountBytes, t.Field)
	op.Count(out, words, tokenize.CountWords, t.Field)
	op.Count(out, now.Unknown-seen.Unknown, "tokenize %s: unknown characters", t.Field)
	op.Count(out, now.Dropped-seen.Dropped, "tokenize %s: characters that have no token, left out", t.Field)
	op.Count(out, now.Special-seen.Special, "tokenize %s: added tokens in texts", t.Field)
	op.Count(out, now.Spelled-seen.Spelled, "tokenize %s: special tokens in texts, left text", t.Field)
	op.Count(out, cut, "tokenize %s: texts cut", t.Field)
	op.Count(out, empty, "tokenize %s: texts without tokens", t.Field)
	if !t.drop || empty == 0 {
		return out, nil
	}
	keep := mem.Alloc(b.Samples)
	for i := range keep {
		keep[i] = op.Mark(lists[i+1] > lists[i])
	}
	return op.Select(out, keep, mem)
}

// put appends ids as they are stored.
func (t *tokenizeField) put(data []byte, ids []int32) []byte {
	if t.dtype == shardify.U16 {
		for _, id := range ids {
			data = binary.LittleEndian.AppendUint16(data, uint16(id))
		}
		return data
	}
	for _, id := range ids {
		data = binary.LittleEndian.AppendUint32(data, uint32(id))
	}
	return data
}
