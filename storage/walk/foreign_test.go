package walk

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestForeignFilesNameAWayOut: a file that is not read is identified, with a way to convert it.
func TestForeignFilesNameAWayOut(t *testing.T) {
	for name, want := range map[string]string{
		"brain.nii.gz": "a NIfTI volume, which is not read here: --from files", "T1.NII": "--from files", "a.dcm": "a DICOM file", "a.wav": "--from files", "a.ply": "--from files",
		"era5.grib": "cfgrib", "model.pt": "torch.load", "t.xlsx": "pandas.read_excel",
		"a.gz": "gunzip", "a.csv.xz": "unxz",
	} {
		err := foreignFile("in/" + name)
		if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if strings.Contains(name, ".nii") && strings.Contains(err.Error(), "gunzip") {
			t.Errorf("%s: advice to unpack: %v", name, err)
		}
	}
	if err := foreignFile("in/a.xyz"); err != nil {
		t.Error(err)
	}
}
