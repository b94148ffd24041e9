package tfrecord

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tfrecord"
)

func sortFeatures(all []feature) {
	slices.SortFunc(all, func(a, b feature) int { return strings.Compare(a.name, b.name) })
}

// labels are the names of the classes of a field.
type labels struct{ name, text string }

// classes of the features in features.json.
const (
	classes = "tensorflow_datasets.core.features."
	asDict  = classes + "features_dict.FeaturesDict"
	asList  = classes + "sequence_feature.Sequence"
	asText  = classes + "text_feature.Text"
	asImage = classes + "image_feature.Image"
	asLabel = classes + "class_label_feature.ClassLabel"
	asArray = classes + "tensor_feature.Tensor"
)

type object map[string]any

// numpy are the names of types.
var numpy = map[shardify.DType]string{
	shardify.Bool: "bool", shardify.I8: "int8", shardify.I16: "int16", shardify.I32: "int32", shardify.I64: "int64",
	shardify.U8: "uint8", shardify.U16: "uint16", shardify.U32: "uint32", shardify.U64: "uint64",
	shardify.F16: "float16", shardify.BF16: "bfloat16", shardify.F32: "float32",
}

func shapeOf(shape []int) object {
	if len(shape) == 0 {
		return object{}
	}
	var dims []string
	for _, d := range shape {
		dims = append(dims, fmt.Sprint(d))
	}
	return object{"dimensions": dims}
}

func array(dtype string, shape []int) object {
	return object{"pythonClassName": asArray, "tensor": object{"dtype": dtype, "encoding": "none", "shape": shapeOf(shape)}}
}

func listOf(of object) object {
	return object{"pythonClassName": asList, "sequence": object{"feature": of, "length": "-1"}}
}

// describe makes features.json, and the files with names of classes.
func describe(schema []shardify.Field, keyed bool) (text []byte, all []labels, err error) {
	plan, err := plan(schema, keyed)
	if err != nil {
		return nil, nil, err
	}
	features := object{}
	for _, x := range plan {
		if x.field < 0 {
			features[x.name] = object{"pythonClassName": asText, "text": object{}}
			continue
		}
		f := &schema[x.field]
		var of object
		lists := f.Levels
		names := f.Labels()
		switch {
		case f.Media != "":
			lists--
			switch f.Media {
			case "txt", "json":
				of = object{"pythonClassName": asText, "text": object{}}
			case "png", "jpg", "image":
				image := object{"dtype": "uint8", "shape": shapeOf([]int{-1, -1, 3})}
				of = object{"pythonClassName": asImage, "image": image}
			default:
				of = array("string", nil)
			}
		case names != nil && f.DType.IsInt() && len(f.Shape) == 0 && !slices.Contains(names, ""):
			of = object{"pythonClassName": asLabel, "classLabel": object{"numClasses": fmt.Sprint(len(names))}}
			all = append(all, labels{strings.ReplaceAll(f.Name, "/", "-") + tfrecord.LabelsEnd, strings.Join(names, "\n") + "\n"})
		default:
			of = array(numpy[f.DType], f.Shape)
		}
		if lists > 0 {
			of = listOf(of)
		}
		features[x.name] = of
	}
	text, err = indented(object{"pythonClassName": asDict, "featuresDict": object{"features": nested(features)}})
	return text, all, err
}

// nested makes dictionaries of the names with a /, as TensorFlow Datasets join them.
func nested(features object) object {
	out := object{}
	groups := map[string]object{}
	for name, f := range features {
		head, rest, ok := strings.Cut(name, "/")
		if _, is := features[head]; !ok || is || head == "" || rest == "" {
			out[name] = f
			continue
		}
		if groups[head] == nil {
			groups[head] = object{}
		}
		groups[head][rest] = f
	}
	for head, g := range groups {
		out[head] = object{"pythonClassName": asDict, "featuresDict": object{"features": nested(g)}}
	}
	return out
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// split is one of a set: its files are below dir.
type split struct {
	name, dir string
	shards    []shardify.Shard
}

// info makes dataset_info.json. The set has the name and version that TensorFlow Datasets need; the
// names of its files are those of shardify: {SHARD_INDEX} has five digits, they have six.
func info(c container, splits []split) []byte {
	var all []object
	for _, s := range splits {
		lengths, bytes := []string{}, int64(0)
		for i := range s.shards {
			if s.shards[i].Samples == 0 { // it has no file
				continue
			}
			lengths = append(lengths, fmt.Sprint(s.shards[i].Samples))
			bytes += s.shards[i].Bytes
		}
		all = append(all, object{"name": s.name, "filepathTemplate": s.dir + "shard-0{SHARD_INDEX}.{FILEFORMAT}", "numBytes": fmt.Sprint(bytes), "shardLengths": lengths})
	}
	b, _ := indented(object{"name": "shards", "version": "1.0.0", "fileFormat": c, "splits": all}) // texts alone
	return b
}
