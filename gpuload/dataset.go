package gpuload

import (
	"context"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/storages"
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
	*dataset.Set
	lo int64 // its first sample among all
}

// Open reads the manifests of data sets, each named by its folder or by its
// manifest. Several are read one after the other as one set, or mixed (Config.Mix);
// sets of all formats may come together as long as the wanted fields are alike. Pairs of Megatron-LM (a
// folder, an .idx, a .bin, or without extension), MDS folders and tars of WebDataset need no manifest.
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
		set, err := dataset.Open(ctx, storages.Files, path, index.FormatMmap, index.FormatWDS, index.FormatMegatron, index.FormatMDS)
		if err != nil {
			return nil, err
		}
		d.inputs = append(d.inputs, &input{set, d.samples})
		d.samples += set.Samples
		h.WriteString(set.Digest)
	}
	sum := h.Sum128().Bytes()
	d.fingerprint = fmt.Sprintf("%x", sum)
	return d, nil
}

// stored are the sets as they are on disk.
func (d *Dataset) stored() (list []*dataset.Set) {
	for _, in := range d.inputs {
		list = append(list, in.OnDisk())
	}
	return list
}

func (d *Dataset) sets() (list []*dataset.Set) {
	for _, in := range d.inputs {
		list = append(list, in.Set)
	}
	return list
}

// Close does nothing yet; Loaders are closed by themselves.
func (d *Dataset) Close() error { return nil }

// Len is the number of samples.
func (d *Dataset) Len() int64 { return d.samples }

// Inputs is the number of samples of each input.
func (d *Dataset) Inputs() []int64 {
	n := make([]int64, len(d.inputs))
	for i, in := range d.inputs {
		n[i] = in.Samples
	}
	return n
}

// Schema is the fields of the first input, companions included.
func (d *Dataset) Schema() []shardify.Field { return slices.Clone(d.inputs[0].Schema) }

// Coords are the coordinates of the fields' dimensions: by the name of the dimension (Field.Dims),
// or by format.CoordOf(field, dimension) where fields differ. Sets of different grids are an error.
func (d *Dataset) Coords() (map[string]format.Coord, error) {
	all, _, err := dataset.Coords(d.sets())
	return all, err
}

// Static are the fields that are the same for all samples, as columns of one sample; nil without.
// Sets of other ones are an error.
func (d *Dataset) Static(ctx context.Context) ([]shardify.Column, error) {
	list, _, err := dataset.Static(ctx, d.sets())
	return list, err
}

// Keyed reports whether the samples have names of their own.
func (d *Dataset) Keyed() bool { return d.inputs[0].Keyed }

// Fingerprint identifies the bytes of the set: 32 hexadecimal digits.
func (d *Dataset) Fingerprint() string { return d.fingerprint }

// Are makes sure that the inputs have ids, as shardify id prints them: one for each.
func (d *Dataset) Are(ctx context.Context, ids []string) error {
	return dataset.Are(ctx, d.stored(), ids)
}

// Bytes is the size of all shards.
func (d *Dataset) Bytes() (n int64) {
	for _, in := range d.inputs {
		n += in.Bytes
	}
	return n
}

// sampleBytes is the mean size of a sample on disk.
func (d *Dataset) sampleBytes() int64 { return max(d.Bytes()/max(d.samples, 1), 1) }

// Locate returns which input has a sample, and its number there.
func (d *Dataset) Locate(sample int64) (input int, number int64) {
	for input < len(d.inputs)-1 && sample >= d.inputs[input+1].lo {
		input++
	}
	return input, sample - d.inputs[input].lo
}

// project chooses the wanted fields of the first input and makes sure that the
// others have the same.
func (d *Dataset) project(columns []string) ([]shardify.Field, error) {
	fields, _, err := dataset.Project(d.inputs[0].Schema, columns)
	if err != nil {
		return nil, err
	}
	for _, in := range d.inputs[1:] {
		for i := range fields {
			j := shardify.FieldIndex(in.Schema, fields[i].Name)
			if j < 0 {
				return nil, shardify.Annotate(shardify.Mismatch("no field %s, which %s has", fields[i].Name, d.inputs[0].Path), "open", in.Path, "")
			}
			if a, b := dataset.Alike(&fields[i]), dataset.Alike(&in.Schema[j]); a != b {
				return nil, shardify.Annotate(shardify.Mismatch("field is %s, but %s in %s", b, a, d.inputs[0].Path), "open", in.Path, "")
			}
		}
	}
	return fields, nil
}
