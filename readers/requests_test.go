package readers

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/dicom"
	"github.com/shardify/shardify/readers/fits"
	"github.com/shardify/shardify/readers/mrc"
	"github.com/shardify/shardify/readers/nifti"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/readers/wav"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// requests counts what is asked of a storage.
type requests struct {
	storage.FS
	opens, reads, bytes atomic.Int64
}

type countedFile struct {
	storage.File
	of *requests
}

func (r *requests) Open(ctx context.Context, name string) (storage.File, error) {
	r.opens.Add(1)
	f, err := r.FS.Open(ctx, name)
	return countedFile{f, r}, err
}

func (f countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.of.reads.Add(1)
	n, err := f.File.ReadAt(p, off)
	f.of.bytes.Add(int64(n))
	return n, err
}

// TestPlannedFromHeadersAlone: a plan opens each file of arrays once and reads a block of it once, packed or not; so
// does reading these small files. FITS looks into the first one more often.
func TestPlannedFromHeadersAlone(t *testing.T) {
	const files, block = 50, 16 << 10
	small, err := os.ReadFile("nifti/testdata/scaled_i16.nii")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   format.Input
		name string
		data []byte // nil: the file of this name
	}{
		{nifti.Format, "nifti/testdata/scaled_i16.nii", nil},
		{nifti.Format, "x.nii.gz", readertest.Gzip(small)},
		{nifti.Format, "nifti/testdata/bold4d.nii.gz", nil},
		{mrc.Format, "mrc/testdata/mode12.mrc", nil},
		{mrc.Format, "mrc/testdata/gz.mrc.gz", nil},
		{wav.Format, "wav/testdata/i16_2ch.wav", nil},
		{dicom.Format, "dicom/testdata/ct_rescale.dcm", nil},
		{fits.Format, "fits/testdata/scaled_i16_blank.fits", nil},
	} {
		if c.data == nil {
			if c.data, err = os.ReadFile(c.name); err != nil {
				t.Fatal(err)
			}
		}
		dir := t.TempDir()
		var names []string
		for i := range files {
			names = append(names, filepath.Join(dir, string(rune('a'+i/26))+string(rune('a'+i%26))+filepath.Base(c.name)))
			if err := os.WriteFile(names[i], c.data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		counts := &requests{FS: storages.Files}
		table := readertest.TableOf(names...)
		table.FS = counts
		src, err := c.in.Open(context.Background(), format.OpenArgs{Table: table, Jobs: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		opens, reads, bytes := counts.opens.Load(), counts.reads.Load(), counts.bytes.Load()
		if opens > files+1 || reads > files+3 || bytes > files*block {
			t.Errorf("%s: the plan of %d files opens %d times and reads %d times, %d bytes", c.name, files, opens, reads, bytes)
		}
		if _, err := readertest.Load(src, 1<<10); err != nil {
			t.Fatal(err)
		}
		if opens, reads := counts.opens.Load()-opens, counts.reads.Load()-reads; opens > files || reads > files {
			t.Errorf("%s: %d files are opened %d times and read %d times", c.name, files, opens, reads)
		}
		t.Logf("%s: plan %d reads of %d bytes, then %d reads", c.name, reads, bytes, counts.reads.Load()-reads)
	}
}
