package nifti

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/shardify/shardify/tests/race"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/nifti"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile/arrayfiletest"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
)

// TestCorpus compares with nibabel. Where the two differ, the standard is followed: vox_offset 0 makes
// voxels of the header, and a header of another size is refused.
func TestCorpus(t *testing.T) {
	arrayfiletest.Corpus(t, "nifti", Format, map[string]string{
		"offset0.nii":      "vox_offset is 0, which is in the header",
		"bomb_tail.nii.gz": "follow the values",
		"analyze.hdr":      "Analyze 7.5",
	})
}

var tested = arrayfiletest.Kind{Input: Format, Samples: []string{"file", "volume"},
	Seeds: []string{"scaled_i16.nii", "nifti2_big.nii", "qform_qfac-1.nii", "scaled_complex.nii", "rgb24.nii", "bold4d.nii.gz"}}

func TestConformance(t *testing.T) {
	tested.Conform(t, "file", "scaled_i16.nii", "qform_qfac-1.nii", "scaled_i16.nii") // scaled, and not
	tested.Conform(t, "volume", "bold4d.nii.gz", "bold4d.nii.gz")
	tested.Conform(t, "file", "nifti2_big.nii", "qform_qfac-1.nii") // shapes that differ
}

func TestMutants(t *testing.T) { tested.Mutants(t, 540) }

func FuzzFile(f *testing.F) { tested.Fuzz(f) }

// TestVolumes compares the volumes of a file with the file: volume t is [:, :, :, t].
func TestVolumes(t *testing.T) {
	load := func(sample string) *readertest.Columns {
		src, err := arrayfiletest.Open(Format, format.Options{"sample": sample}, nil, "testdata/bold4d.nii.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		c, err := readertest.Load(src, 100)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	file, volumes := load("file"), load("volume")
	whole, parts := shardify.View[int16](file.ByName["image"].Data), shardify.View[int16](volumes.ByName["image"].Data)
	n := int(volumes.Samples)
	if shape := volumes.ByName["image"].Shape; !slices.Equal(shape, []int{8, 8, 4}) || n != 5 || len(whole) != len(parts) {
		t.Fatalf("%d volumes of %v", n, shape)
	}
	for i, v := range whole {
		if got := parts[i%n*len(whole)/n+i/n]; got != v {
			t.Fatalf("value %d of volume %d is %d; want %d", i/n, i%n, got, v)
		}
	}
}

// TestSpacingOfVolumes: that of a volume has three numbers, with --sample volume, too.
func TestSpacingOfVolumes(t *testing.T) {
	for sample, want := range map[string][]int{"volume": {3}, "file": {4}} {
		src, err := arrayfiletest.Open(Format, format.Options{"sample": sample}, []string{"image", "image.spacing"}, "testdata/bold4d.nii.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		c, err := readertest.Load(src, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ByName["image.spacing"].Shape; !slices.Equal(got, want) {
			t.Errorf("--sample %s: spacing of %v, want %v", sample, got, want)
		}
	}
}

// TestWildcards reach what belongs to the image.
func TestWildcards(t *testing.T) {
	for patterns, want := range map[string]string{
		"":              "image",
		"!image.units":  "image",
		"image*":        "image image.affine image.spacing image.units",
		"image.[as]*":   "image image.affine image.spacing", // image.shape, which comes with the image
		"*.units":       "image.units",
		"*,!*.units":    "image image.affine image.spacing",
		"image,*affine": "image image.affine",
	} {
		var columns []string
		if patterns != "" {
			columns = strings.Split(patterns, ",")
		}
		src, err := arrayfiletest.Open(Format, nil, columns, "testdata/scaled_i16.nii")
		if err != nil {
			t.Errorf("%s: %v", patterns, err)
			continue
		}
		var names []string
		for _, f := range src.Schema() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("--columns '%s': %s, want %s", patterns, got, want)
		}
		src.Close()
	}
}

// TestFieldsOnDemand compares the affine and the spacing with what nibabel says.
func TestFieldsOnDemand(t *testing.T) {
	root := filepath.Join(corpus.Dir(t, "science_images"), "nifti")
	compared := 0
	for _, pattern := range []string{"*.nii", "*.nii.gz", "pair.hdr", "real/*.nii", "real/*.nii.gz", "nnunet/*/*.gz"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			e := arrayfiletest.Read(t, name)
			var affine [][]float64
			var zooms []float64
			if json.Unmarshal(e.Attributes["affine"], &affine) != nil || json.Unmarshal(e.Attributes["zooms"], &zooms) != nil || filepath.Base(name) == "offset0.nii" {
				continue
			}
			src, err := arrayfiletest.Open(Format, nil, []string{"image.affine", "image.spacing", "image.units"}, name)
			if err != nil {
				t.Fatal(err)
			}
			c, err := readertest.Load(src, 100)
			src.Close()
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range shardify.View[float64](c.ByName["image.affine"].Data) {
				if want := affine[i/4][i%4]; math.Abs(v-want) > 1e-6*max(1, math.Abs(want)) {
					t.Errorf("%s: element %d of the affine is %v; want %v", filepath.Base(name), i, v, want)
				}
			}
			if got := shardify.View[float64](c.ByName["image.spacing"].Data); !slices.EqualFunc(got, zooms, func(a, b float64) bool { return math.Abs(a-b) < 1e-6 }) {
				t.Errorf("%s: spacing %v; want %v", filepath.Base(name), got, zooms)
			}
			if units := string(c.ByName["image.units"].Data); strings.Count(units, ",") != 1 {
				t.Errorf("%s: units %q", filepath.Base(name), units)
			}
			compared++
		}
	}
	if compared < 30 {
		t.Errorf("only %d files were compared", compared)
	}
}

// TestStoredNumbers come with their scale.
func TestStoredNumbers(t *testing.T) {
	src, err := arrayfiletest.Open(Format, format.Options{"scaled": "no"}, nil, "testdata/scaled_i16.nii")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	stored, err := readertest.Load(src, 100)
	if err != nil {
		t.Fatal(err)
	}
	src, err = arrayfiletest.Open(Format, nil, nil, "testdata/scaled_i16.nii")
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	scaled, err := readertest.Load(src, 100)
	if err != nil {
		t.Fatal(err)
	}
	slope, inter := shardify.View[float64](stored.ByName["image.slope"].Data)[0], shardify.View[float64](stored.ByName["image.inter"].Data)[0]
	values := shardify.View[float64](scaled.ByName["image"].Data)
	for i, v := range shardify.View[int16](stored.ByName["image"].Data) {
		if want := float64(float64(v)*slope) + inter; values[i] != want || slope == 1 {
			t.Fatalf("value %d is %v; want %v", i, values[i], want)
		}
	}
}

// TestSameInMemory: --parse decodes files as the reader does.
func TestSameInMemory(t *testing.T) {
	root := filepath.Join(corpus.Dir(t, "science_images"), "nifti")
	equal := 0
	for _, pattern := range []string{"*.nii", "*.nii.gz", "real/*.nii", "real/*.nii.gz", "bad/*.nii", "bad/*.gz"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var values []byte
			v, errHere := nifti.Open(b)
			if errHere == nil {
				values, errHere = v.Append(nil)
			}
			src, err := arrayfiletest.Open(Format, nil, nil, name)
			var c *readertest.Columns
			if err == nil {
				c, err = readertest.Load(src, 1<<20)
				src.Close()
			}
			switch {
			case (err == nil) != (errHere == nil):
				t.Errorf("%s: %v; the reader: %v", filepath.Base(name), errHere, err)
			case err != nil:
			case !bytes.Equal(values, c.ByName["image"].Data) || !slices.Equal(v.Shape(), c.ByName["image"].Shape):
				t.Errorf("%s: other values than of the reader", filepath.Base(name))
			default:
				equal++
			}
		}
	}
	if equal < 30 {
		t.Errorf("only %d files are equal", equal)
	}
}

// TestPlannedFromTheFirstBytes: of a packed file the plan reads no more than a block.
func TestPlannedFromTheFirstBytes(t *testing.T) {
	b, err := os.ReadFile("testdata/scaled_i16.nii")
	if err != nil {
		t.Fatal(err)
	}
	b = b[:352]
	for i, d := range []uint16{3, 100, 100, 10} {
		binary.LittleEndian.PutUint16(b[40+2*i:], d)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		b = append(b, byte(rng.Uint32()))
	}
	b = readertest.Gzip(b)
	b[len(b)/2] ^= 1 // stays unread
	name := readertest.Put(t, "a.nii.gz", string(b))
	src, err := arrayfiletest.Open(Format, nil, nil, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := readertest.Load(src, 100); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a damaged checksum: %v", err)
	}
}
