package filekind

import (
	"slices"
	"testing"

	"github.com/shardify/shardify"
)

func TestKindsByBytesAndByName(t *testing.T) {
	for file, want := range map[string]string{
		"\xff\xd8\xff": "a JPEG image", "\x00\x00\x00\x20ftypavif": "an AVIF image", "\x00\x00\x00\x18ftypheic": "a HEIC image",
		"\x00\x00\x00\x0cJXL \r\n\x87\n": "a JPEG XL image", "\xff\x0a\x00": "a JPEG XL image", "\x00\x00\x00\x0cjP  \r\n": "a JPEG 2000 image",
		"SIMPLE  =  T": "a FITS file", "RIFF\x00\x00\x00\x00WAVEfmt ": "a WAV recording", "": "", "hello": "",
	} {
		k := Of([]byte(file))
		if got := nameOf(k); got != want {
			t.Errorf("%q is %q, want %q", file, got, want)
		}
	}
	for ext, want := range map[string]string{"nii.gz": "a NIfTI volume", "T1w.nii.gz": "a NIfTI volume", "gz": "", "seg.png": "a PNG image", "JPG": "a JPEG image", "": ""} {
		if got := nameOf(Ext(ext)); got != want {
			t.Errorf("extension %q is %q, want %q", ext, got, want)
		}
	}
	if !IsImage("image") || !IsImage("jxl") || IsImage("wav") || IsImage("txt") || IsImage("") {
		t.Error("IsImage")
	}
}

func nameOf(k *Kind) string {
	if k == nil {
		return ""
	}
	return k.Name
}

func TestNotesSayWhatTheLoaderDelivers(t *testing.T) {
	file := func(name, media string) shardify.Field {
		return shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: media}
	}
	mixed := shardify.Field{Name: "image.ext", DType: shardify.U8, Attrs: map[string]string{"labels": "avif\njpg\njxl"}}
	got := Notes([]shardify.Field{file("jpg", "jpg"), file("caption", "txt"), file("nii.gz", "gz"), file("image", "image"), mixed, file("webp", "webp"), file("abc", "abc"), {Name: "x", DType: shardify.F32}})
	want := []string{
		"field nii.gz: NIfTI volumes, copied byte for byte; the Loader delivers the bytes, and transform= can read them with the Python package nibabel",
		"field image: AVIF images, which the Loader decodes with Pillow 11.3 or later; --augment and --check-images do not decode them",
		"field image: JPEG XL images, which the Loader decodes with Pillow and the package pillow-jxl-plugin; --augment and --check-images do not decode them",
		"field webp: WebP images, which the Loader decodes with Pillow",
		"files of abc: copied byte for byte; the Loader delivers the bytes",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
