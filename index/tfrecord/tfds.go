package tfrecord

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// The files beside the shards of a folder of TensorFlow Datasets.
const (
	FeaturesName = "features.json"
	InfoName     = "dataset_info.json"
	LabelsEnd    = ".labels.txt" // behind the name of a field, "/" of which is "-" there
)

// Spec is what features.json says of the values under a key.
type Spec struct {
	DType shardify.DType // of numbers; Invalid of bytes
	Shape []int          // of an element; -1 is a dimension of any length
	// Sequence: there are many elements, or Length of them if it is not negative. Group is the key of
	// the sequence: all keys of one group have as many elements.
	Sequence bool
	Length   int
	Group    string
	Media    string // "txt", "image", "bin"; "" of numbers
	Classes  int    // of a class label
	// Packed: the values are one value of bytes, as they are in memory, or packed by zlib.
	Packed string
}

type node struct {
	Class    string `json:"pythonClassName"`
	Dict     *dict  `json:"featuresDict"`
	Tensor   *array `json:"tensor"`
	Image    *array `json:"image"`
	Label    *label `json:"classLabel"`
	Text     *text  `json:"text"`
	Sequence *list  `json:"sequence"`
	Dataset  *list  `json:"dataset"`
	Box      *text  `json:"boundingBox"`
}

type text struct{}

type dict struct {
	Features map[string]node `json:"features"`
}

type array struct {
	DType    string `json:"dtype"`
	Encoding string `json:"encoding"`
	Shape    shape  `json:"shape"`
	Format   string `json:"encodingFormat,omitempty"`
}

type shape struct {
	Dimensions []string `json:"dimensions,omitempty"`
}

type label struct {
	Classes string `json:"numClasses"`
}

type list struct {
	Length  string `json:"length"`
	Feature node   `json:"feature"`
}

// dtypes are the names of NumPy.
var dtypes = map[string]shardify.DType{
	"bool": shardify.Bool, "int8": shardify.I8, "int16": shardify.I16, "int32": shardify.I32, "int64": shardify.I64,
	"uint8": shardify.U8, "uint16": shardify.U16, "uint32": shardify.U32, "uint64": shardify.U64,
	"float16": shardify.F16, "bfloat16": shardify.BF16, "float32": shardify.F32, "float64": shardify.F64,
}

// ParseFeatures reads features.json: a Spec for each key. Keys of kinds that are not known have none:
// their values are what the records say. odd are keys of forms that no field has, and why.
func ParseFeatures(b []byte) (specs map[string]Spec, odd map[string]string, err error) {
	var root node
	if err := json.Unmarshal(b, &root); err != nil {
		return nil, nil, shardify.Corrupt(-1, "%s: %v", FeaturesName, err)
	}
	if root.Dict == nil {
		return nil, nil, shardify.Unsupported("%s: the samples are no dictionary of features", FeaturesName)
	}
	w := walker{map[string]Spec{}, map[string]string{}}
	if err := w.walk(&root, "", nil, 0); err != nil {
		return nil, nil, shardify.Annotate(err, "read", FeaturesName, "")
	}
	return w.specs, w.odd, nil
}

type walker struct {
	specs map[string]Spec
	odd   map[string]string
}

const maxDepth = 64

func (w *walker) walk(n *node, key string, in *Spec, depth int) error {
	if depth > maxDepth {
		return shardify.Unsupported("features of more than %d levels", maxDepth)
	}
	s := Spec{Length: -1}
	if in != nil {
		s = *in
	}
	switch seq := n.Sequence; {
	case n.Dict != nil:
		for name := range n.Dict.Features {
			below := n.Dict.Features[name]
			if key != "" {
				name = key + "/" + name
			}
			if err := w.walk(&below, name, in, depth+1); err != nil {
				return err
			}
		}
		return nil
	case seq != nil || n.Dataset != nil:
		if seq == nil {
			seq = n.Dataset
		}
		if in != nil {
			w.odd[key] = "sequences of sequences"
			return nil
		}
		s.Sequence, s.Group = true, key
		if seq.Length != "" {
			var err error
			if s.Length, err = strconv.Atoi(seq.Length); err != nil {
				return shardify.Corrupt(-1, "feature %s: a length of %q", key, seq.Length)
			}
		}
		return w.walk(&seq.Feature, key, &s, depth+1)
	case n.Label != nil:
		s.DType = shardify.I64
		s.Classes, _ = strconv.Atoi(n.Label.Classes)
	case n.Image != nil:
		s.Media = "image"
	case n.Text != nil:
		s.Media = "txt"
	case n.Box != nil:
		s.DType, s.Shape = shardify.F32, []int{4}
	case n.Tensor != nil:
		return w.tensor(n.Tensor, key, &s)
	default:
		return nil
	}
	w.specs[key] = s
	return nil
}

func (w *walker) tensor(a *array, key string, s *Spec) error {
	for _, d := range a.Shape.Dimensions {
		v, err := strconv.Atoi(d)
		if err != nil || v < -1 || v > 1<<31 {
			return shardify.Corrupt(-1, "feature %s: a dimension of %q", key, d)
		}
		s.Shape = append(s.Shape, v)
	}
	s.DType = dtypes[a.DType]
	if s.DType == shardify.Invalid {
		if a.DType != "string" && a.DType != "object" && a.DType != "" {
			w.odd[key] = "values of type " + a.DType
			return nil
		}
		s.Media = "bin"
	}
	if e := a.Encoding; e != "" && e != "none" {
		s.Packed = e
	}
	w.specs[key] = *s
	return nil
}

// Info is what dataset_info.json says.
type Info struct {
	Name       string  `json:"name"`
	Version    string  `json:"version"`
	FileFormat string  `json:"fileFormat"`
	Splits     []Split `json:"splits"`
}

// Split is one of them: samples by shard.
type Split struct {
	Template string   `json:"filepathTemplate"`
	Name     string   `json:"name"`
	Bytes    string   `json:"numBytes"`
	Lengths  []string `json:"shardLengths"`
}

// ParseInfo reads dataset_info.json.
func ParseInfo(b []byte) (*Info, error) {
	x := &Info{}
	if err := json.Unmarshal(b, x); err != nil {
		return nil, shardify.Corrupt(-1, "%s: %v", InfoName, err)
	}
	return x, nil
}

// Of finds the split of a file by its name, DATASET-SPLIT.FORMAT-00000-of-00001, and how many samples
// the shard has; -1 if that is not said.
func (x *Info) Of(base string) (split string, samples int64) {
	for i := range x.Splits {
		s := &x.Splits[i]
		rest, ok := strings.CutPrefix(base, x.Name+"-"+s.Name+".")
		if !ok {
			continue
		}
		_, k, n, ok := PartOf(rest)
		if !ok || n != len(s.Lengths) || k >= n {
			return s.Name, -1
		}
		v, err := strconv.ParseInt(s.Lengths[k], 10, 64)
		if err != nil || v < 0 {
			return s.Name, -1
		}
		return s.Name, v
	}
	return "", -1
}

// PartOf splits the name of a part of a set of files, NAME-00001-of-00003 with or without an ending, into
// the name that the parts share, the number of the part and how many there are.
func PartOf(base string) (name string, part, of int, ok bool) {
	at := strings.LastIndex(base, "-of-")
	if at < 0 {
		return "", 0, 0, false
	}
	begin := at
	for begin > 0 && digit(base[begin-1]) {
		begin--
	}
	end := at + len("-of-")
	for end < len(base) && digit(base[end]) {
		end++
	}
	if begin == at || begin == 0 || base[begin-1] != '-' || end == at+len("-of-") || at-begin > 9 || end-at > 13 {
		return "", 0, 0, false
	}
	part, _ = strconv.Atoi(base[begin:at])
	of, _ = strconv.Atoi(base[at+len("-of-") : end])
	return base[:begin-1] + base[end:] + fmt.Sprintf(" of %d", of), part, of, true
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
