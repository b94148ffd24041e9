package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/internal/printable"
)

// Card describes a data set for catalogues: as Croissant, and as the data card of the Hugging Face
// Hub. It is made from manifests alone.
type Card struct {
	Name     string // of the data set
	Manifest *index.Manifest
	// Splits are the manifests of the splits, by name; nil without splits.
	Splits map[string]*index.Manifest
	// Use is a command that reads the set in a folder named FOLDER.
	Use string
}

// parts calls f with each split's name and manifest; a set without splits is one, named "".
func (c *Card) parts(f func(split string, m *index.Manifest)) {
	if len(c.Splits) == 0 {
		f("", c.Manifest)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Splits)) {
		f(name, c.Splits[name])
	}
}

// FolderOf is the folder of the shards of a set in dir: of the first split, if there are several.
func (c *Card) FolderOf(dir string) string {
	splits, _ := c.patterns()
	if len(c.Splits) == 0 || len(splits) == 0 {
		return dir
	}
	if slices.Contains(splits, "train") {
		return path.Join(dir, "train")
	}
	return path.Join(dir, splits[0])
}

// patterns are globs of the shards, by split.
func (c *Card) patterns() (splits, globs []string) {
	c.parts(func(split string, m *index.Manifest) {
		if len(m.Shards) > 0 {
			splits, globs = append(splits, split), append(globs, path.Join(split, "*"+path.Ext(m.Shards[0].Name)))
		}
	})
	return splits, globs
}

// summary is one sentence.
func (c *Card) summary() string {
	m, shards := c.Manifest, 0
	c.parts(func(_ string, m *index.Manifest) { shards += len(m.Shards) })
	return fmt.Sprintf("%s in %s (%s, %s), made by shardify from %s (%s).", printable.Of(m.Samples, "sample"), printable.Of(int64(shards), "shard"), m.Format,
		shardify.FormatSize(m.Bytes), printable.Of(m.Inputs.Count, "file"), m.Inputs.Format)
}

// fields calls f with every field that readers see.
func (c *Card) fields(f func(*shardify.Field)) {
	schema := c.Manifest.Schema
	for i := range schema {
		if !shardify.Companion(schema, i) {
			f(&schema[i])
		}
	}
}

type object = map[string]any

func ref(id string) object { return object{"@id": id} }

// Croissant is the metadata of the data set as Croissant 1.1 has it, in JSON-LD: record
// sets of samples, of shards, and of the names of classes.
func (c *Card) Croissant() ([]byte, error) {
	_, globs := c.patterns()
	distribution, format := []object{}, "application/octet-stream"
	if c.Manifest.Members != nil {
		format = "application/x-tar"
	}
	if len(globs) > 0 {
		distribution = append(distribution, object{"@type": "cr:FileSet", "@id": "files", "name": "files", "description": "the shards; " + index.ManifestName + " beside them has their digests",
			"encodingFormat": format, "includes": globs})
	}
	samples := []object{}
	sets := []object{}
	c.fields(func(f *shardify.Field) {
		id := "samples/" + url.PathEscape(f.Name)
		o := object{"@type": "cr:Field", "@id": id, "name": f.Name, "description": TypeOf(f), "source": object{"fileSet": ref("files"), "extract": object{"column": f.Name}}}
		o["dataType"] = croissantType(f)
		if shape := croissantShape(f); shape != "" {
			o["isArray"], o["arrayShape"] = true, shape
		}
		if f.Labels() != nil && f.Levels == 0 && len(f.Shape) == 0 {
			names := "names/" + url.PathEscape(f.Name)
			sets = append(sets, enumeration(names, f))
			o["references"] = object{"field": ref(names + "/code")}
		}
		samples = append(samples, o)
	})
	if len(globs) > 0 {
		sets = append([]object{{"@type": "cr:RecordSet", "@id": "samples", "name": "samples", "description": printable.Of(c.Manifest.Samples, "sample"), "field": samples}}, sets...)
	}
	sets = append(sets, c.shardRecords())
	b, err := json.MarshalIndent(object{
		"@context": croissantContext, "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.1",
		"name": c.Name, "description": c.summary(), "version": "1.0.0+" + c.Manifest.Digest, "distribution": distribution, "recordSet": sets,
	}, "", "  ")
	return append(b, '\n'), err
}

func (c *Card) shardRecords() object {
	rows := []object{}
	c.parts(func(split string, m *index.Manifest) {
		for _, s := range m.Shards {
			rows = append(rows, object{"shards/file": path.Join(split, s.Name), "shards/split": split, "shards/samples": s.Samples, "shards/bytes": s.Bytes, "shards/digest": s.Digest})
		}
	})
	return records("shards", "the shards with what "+index.ManifestName+" knows of them", rows, [][2]string{
		{"file", "sc:Text"}, {"split", "sc:Text"}, {"samples", "sc:Integer"}, {"bytes", "sc:Integer"}, {"digest", "sc:Text"}})
}

// enumeration is the meanings of a field's codes.
func enumeration(id string, f *shardify.Field) object {
	rows := []object{}
	for code, name := range f.Labels() {
		rows = append(rows, object{id + "/code": code, id + "/name": name})
	}
	o := records(id, "what the codes of "+f.Name+" stand for", rows, [][2]string{{"code", "sc:Integer"}, {"name", "sc:Text"}})
	o["dataType"], o["key"] = "sc:Enumeration", ref(id+"/code")
	return o
}

// records is a record set whose records are in the file itself.
func records(id, description string, rows []object, columns [][2]string) object {
	fields := []object{}
	for _, c := range columns {
		fields = append(fields, object{"@type": "cr:Field", "@id": id + "/" + c[0], "name": c[0], "dataType": c[1]})
	}
	return object{"@type": "cr:RecordSet", "@id": id, "name": id, "description": description, "field": fields, "data": rows}
}

var croissantTypes = map[shardify.DType]string{
	shardify.Bool: "sc:Boolean", shardify.I8: "cr:Int8", shardify.I16: "cr:Int16", shardify.I32: "cr:Int32", shardify.I64: "cr:Int64",
	shardify.U8: "cr:UInt8", shardify.U16: "cr:UInt16", shardify.U32: "cr:UInt32", shardify.U64: "cr:UInt64",
	shardify.F16: "cr:Float16", shardify.BF16: "sc:Float", shardify.F32: "cr:Float32", shardify.F64: "cr:Float64",
}

func croissantType(f *shardify.Field) string {
	switch {
	case filekind.IsImage(f.Media):
		return "sc:ImageObject"
	case f.Media == "txt" || f.Media == "json":
		return "sc:Text"
	}
	return croissantTypes[f.DType]
}

// croissantShape has -1 where lengths differ; "" is a scalar.
func croissantShape(f *shardify.Field) string {
	var dims []string
	levels := f.Levels
	if croissantType(f) != croissantTypes[f.DType] { // a text or an image is one value
		levels--
	}
	for range levels {
		dims = append(dims, "-1")
	}
	for _, n := range f.Shape {
		dims = append(dims, fmt.Sprint(n))
	}
	return strings.Join(dims, ",")
}

// croissantContext is the one that the specification prints.
var croissantContext = json.RawMessage(`{
  "@language": "en", "@vocab": "https://schema.org/", "arrayShape": "cr:arrayShape", "citeAs": "cr:citeAs", "column": "cr:column", "conformsTo": "dct:conformsTo",
  "containedIn": "cr:containedIn", "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/", "data": {"@id": "cr:data", "@type": "@json"},
  "dataType": {"@id": "cr:dataType", "@type": "@vocab"}, "dct": "http://purl.org/dc/terms/", "equivalentProperty": "cr:equivalentProperty",
  "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract", "field": "cr:field", "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject",
  "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes", "isArray": "cr:isArray", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath",
  "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path", "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex",
  "repeated": "cr:repeated", "replace": "cr:replace", "samplingRate": "cr:samplingRate", "sc": "https://schema.org/", "separator": "cr:separator", "source": "cr:source",
  "subField": "cr:subField", "transform": "cr:transform"
}`)

// HuggingFace is the README.md of a data set on the Hub. It names the shards of each split,
// so that datasets.load_dataset reads tars without options.
func (c *Card) HuggingFace() ([]byte, error) {
	var b strings.Builder
	m := c.Manifest
	b.WriteString("---\n")
	fmt.Fprintf(&b, "pretty_name: %s\n", yaml(c.Name))
	b.WriteString("tags:\n- shardify\n")
	fmt.Fprintf(&b, "size_categories:\n- %s\n", sizeCategory(m.Samples))
	if splits, globs := c.patterns(); len(globs) > 0 && m.Members != nil {
		b.WriteString("configs:\n- config_name: default\n  data_files:\n")
		for i, glob := range globs {
			split := splits[i]
			if split == "" {
				split = "train"
			}
			fmt.Fprintf(&b, "  - split: %s\n    path: %s\n", yaml(split), yaml(glob))
		}
	}
	fmt.Fprintf(&b, "---\n\n# %s\n\n%s\n\n", markdown(c.Name), markdown(c.summary()))
	if len(c.Splits) > 0 {
		b.WriteString("| split | samples | shards |\n|---|---|---|\n")
		c.parts(func(split string, m *index.Manifest) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", markdown(split), printable.Count(m.Samples), printable.Count(int64(len(m.Shards))))
		})
		b.WriteString("\n")
	}
	b.WriteString("| field | type | unit, classes |\n|---|---|---|\n")
	c.fields(func(f *shardify.Field) {
		about := f.Attrs["unit"]
		if l := f.Labels(); l != nil {
			about = fmt.Sprintf("%d classes: %s", len(l), printable.Few(l))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", markdown(f.Name), markdown(TypeOf(f)), markdown(about))
	})
	b.WriteString("\n## How to read it\n\n")
	if m.Members != nil {
		b.WriteString("```python\nimport datasets\n\ndata = datasets.load_dataset(\"FOLDER\")\n```\n\n")
	}
	fmt.Fprintf(&b, "```sh\n%s\nshardify verify FOLDER    # compares all bytes with the digests in %s\n```\n", c.Use, index.ManifestName)
	section := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n", title)
			for _, l := range lines {
				fmt.Fprintf(&b, "- %s\n", markdown(l))
			}
		}
	}
	section("How it was made", recipeLines(m))
	section("Left out", append(Leftovers(m.LeftOut), skippedLines(m.Skipped)...))
	return []byte(b.String()), nil
}

// yaml is a scalar of YAML: JSON's texts are.
func yaml(s string) string {
	b, _ := json.Marshal(printable.Name(s))
	return string(b)
}

// markdown shows text as it is.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range printable.Name(s) {
		if strings.ContainsRune("\\`*_{}[]<>#|!&~$", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// sizeCategory is one of the Hub's words.
func sizeCategory(n int64) string {
	names := []string{"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B", "10B<n<100B", "100B<n<1T"}
	k := 0
	for limit := int64(1000); n >= limit && k < len(names)-1; limit *= 10 {
		k++
	}
	return names[k]
}
