package gpuload

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
)

// Dataset is one or several data sets, whose samples are numbered one after the
// other. It holds manifests only and may be used concurrently.
type Dataset struct {
	inputs      []*input
	samples     int64
	fingerprint string
}

// input is one data set.
type input struct {
	path     string // as given
	manifest *index.Manifest
	layout   *index.Layout
	lo       int64 // its first sample among all
}

// Open reads the manifests of data sets, each named by its folder or by its
// manifest. Several are read one after the other as one set, or mixed (Config.Mix);
// mmap and wds shards may come together as long as the wanted fields are alike.
func Open(ctx context.Context, paths ...string) (*Dataset, error) {
	if len(paths) == 0 {
		return nil, fmt.Errorf("no data set: want a folder with %s", index.ManifestName)
	}
	d := &Dataset{}
	var h xxh3.Hasher
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		in, err := openInput(path)
		if err != nil {
			return nil, shardify.Annotate(err, "open", dataset.ManifestPath(path), "")
		}
		in.lo = d.samples
		d.samples += in.manifest.Samples
		d.inputs = append(d.inputs, in)
		h.WriteString(in.manifest.Digest)
	}
	sum := h.Sum128().Bytes()
	d.fingerprint = fmt.Sprintf("%x", sum)
	return d, nil
}

func openInput(path string) (*input, error) {
	name := dataset.ManifestPath(path)
	b, err := dataset.ReadManifest(name)
	if err != nil {
		return nil, dataset.Absent(name, err)
	}
	m, err := index.DecodeManifest(b)
	if err != nil {
		return nil, err
	}
	if len(m.Splits) > 0 {
		return nil, shardify.Unsupported("a set of splits: name one of its folders %s", strings.Join(slices.Sorted(maps.Keys(m.Splits)), ", "))
	}
	if m.Format != index.FormatMmap && m.Format != index.FormatWDS {
		return nil, shardify.Unsupported("a set of %s shards is for others to read: this loader takes mmap and wds", m.Format)
	}
	in := &input{path: path, manifest: m}
	in.layout, err = index.NewLayout(m.Schema, m.Keyed)
	return in, err
}

// Close does nothing yet; Loaders are closed by themselves.
func (d *Dataset) Close() error { return nil }

// Len is the number of samples.
func (d *Dataset) Len() int64 { return d.samples }

// Inputs is the number of samples of each input.
func (d *Dataset) Inputs() []int64 {
	n := make([]int64, len(d.inputs))
	for i, in := range d.inputs {
		n[i] = in.manifest.Samples
	}
	return n
}

// Schema is the fields of the first input, companions included.
func (d *Dataset) Schema() []shardify.Field { return slices.Clone(d.inputs[0].manifest.Schema) }

// Keyed reports whether the samples have names of their own.
func (d *Dataset) Keyed() bool { return d.inputs[0].manifest.Keyed }

// Fingerprint identifies the bytes of the set: 32 hexadecimal digits.
func (d *Dataset) Fingerprint() string { return d.fingerprint }

// Bytes is the size of all shards.
func (d *Dataset) Bytes() (n int64) {
	for _, in := range d.inputs {
		n += in.manifest.Bytes
	}
	return n
}

// sampleBytes is the mean size of a sample on disk.
func (d *Dataset) sampleBytes() int64 { return max(d.Bytes()/max(d.samples, 1), 1) }

// Locate tells which input has a sample, and its number there.
func (d *Dataset) Locate(sample int64) (input int, number int64) {
	for input < len(d.inputs)-1 && sample >= d.inputs[input+1].lo {
		input++
	}
	return input, sample - d.inputs[input].lo
}

// project chooses the wanted fields of the first input and makes sure that the
// others have the same.
func (d *Dataset) project(columns []string) ([]shardify.Field, error) {
	fields, _, err := dataset.Project(d.inputs[0].manifest.Schema, columns)
	if err != nil {
		return nil, err
	}
	for _, in := range d.inputs[1:] {
		for i := range fields {
			j := shardify.FieldIndex(in.manifest.Schema, fields[i].Name)
			if j < 0 {
				return nil, shardify.Annotate(shardify.Mismatch("no field %s, which %s has", fields[i].Name, d.inputs[0].path), "open", in.path, "")
			}
			if a, b := fieldText(fields[i]), fieldText(in.manifest.Schema[j]); a != b {
				return nil, shardify.Annotate(shardify.Mismatch("field is %s, but %s in %s", b, a, d.inputs[0].path), "open", in.path, "")
			}
		}
	}
	return fields, nil
}

// fieldText is what two fields must have in common. The codes of file extensions
// mean nothing without their labels.
func fieldText(f shardify.Field) string {
	labels := f.Attrs["labels"]
	f.Attrs = nil
	if strings.HasSuffix(f.Name, shardify.ExtSuffix) {
		f.Attrs = map[string]string{"labels": labels}
	}
	b, _ := json.Marshal(f)
	return string(b)
}
