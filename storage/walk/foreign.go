package walk

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/filekind"
)

type foreignKind struct{ ext, cure string }

// foreignFolders is the same for folders.
var foreignFolders = []foreignKind{
	{".zarr", "a Zarr store is converted by itself: shardify convert x.zarr"},
}

// foreignKinds says how to convert files that no reader understands into some that one
// does, by the end of the name.
var foreignKinds = []foreignKind{
	{".grib", `GRIB, of weather models; in Python: xarray.open_dataset("x.grib", engine="cfgrib").to_zarr("x.zarr")`},
	{".grib2", `GRIB, of weather models; in Python: xarray.open_dataset("x.grib2", engine="cfgrib").to_zarr("x.zarr")`},
	{".grb", `GRIB, of weather models; in Python: xarray.open_dataset("x.grb", engine="cfgrib").to_zarr("x.zarr")`},
	{".grb2", `GRIB, of weather models; in Python: xarray.open_dataset("x.grb2", engine="cfgrib").to_zarr("x.zarr")`},
	{".xlsx", `a spreadsheet; in Python: pandas.read_excel("x.xlsx").to_csv("x.csv", index=False)`},
	{".xls", `a spreadsheet; in Python: pandas.read_excel("x.xls").to_csv("x.csv", index=False)`},
	{".ods", `a spreadsheet; in Python: pandas.read_excel("x.ods").to_csv("x.csv", index=False)`},
	{".tars", "the index of tars of others: shardify convert takes the folder of the tars"},
	{".pt", "in Python: torch.load and numpy.savez"},
	{".pth", "in Python: torch.load and numpy.savez"},
	{".pkl", "in Python: pickle.load and numpy.savez"},
	{".pickle", "in Python: pickle.load and numpy.savez"},
	{".beton", "the Python package ffcv reads it"},
	{".array_record", "the Python package array_record reads it; write one file per record"},
	{".arrayrecord", "the Python package array_record reads it; write one file per record"},
	{".gz", "unpack it first, with gunzip; tars may stay .tar.gz"},
	{".bz2", "unpack it first, with bunzip2; tars may be .tar.gz or .tar.zst"},
	{".xz", "unpack it first, with unxz; tars may be .tar.gz or .tar.zst"},
	{".zip", "unpack it first, with unzip"},
	{".7z", "unpack it first, with 7z x"},
	{".rar", "unpack it first, with unrar x"},
}

// foreignFile refuses a kind of file that no reader understands and names what
// converts it.
func foreignFile(name string) error {
	base := filepath.Base(name)
	if _, ext, _ := strings.Cut(base, "."); ext != "" {
		// An archive of a kind is not an archive to unpack: .nii.gz is how NIfTI is kept.
		if k := filekind.Ext(ext); k != nil && k.Decoder == filekind.None {
			return shardify.Unsupported("%s is %s, which is not read here: --from files copies such files byte for byte, and the Loader delivers the bytes", base, k.Name)
		}
	}
	return foreign(name, foreignKinds)
}

func (w *walker) foreignFolder(name string) error {
	if w.AnyKind || w.Roots != nil && w.Keep != nil && w.Keep(filepath.Base(name)) {
		return nil
	}
	return foreign(name, foreignFolders)
}

func foreign(name string, kinds []foreignKind) error {
	ext := strings.ToLower(path.Ext(filepath.ToSlash(strings.TrimRight(name, "/"))))
	for _, k := range kinds {
		if k.ext == ext {
			return shardify.Unsupported("%s is not a kind of input here; %s", ext, k.cure)
		}
	}
	return nil
}
