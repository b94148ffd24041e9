package files

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// rowsOf makes n samples of two files each, with names that say nothing about each other, and the table
// that does. It returns the samples as dump has them.
func rowsOf(t *testing.T, n int) (table *format.Table, labels string, want []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 1))
	var files, rows []string
	for i, k := range rng.Perm(n) {
		ext := i % 2
		stem := fmt.Sprintf("images/%d/i%04d", i%3, i)
		image, mask := stem+[]string{".jpg", ".png"}[ext], fmt.Sprintf("masks/m%04d.png", k)
		files = append(files, fmt.Sprintf("%s=image %d", image, i), fmt.Sprintf("%s=mask %d", mask, i))
		rows = append(rows, fmt.Sprintf("%s,%d,%s", mask, i, image))
		want = append(want, fmt.Sprintf("%s image=image %d image.ext=%d mask=mask %d n=%d", stem, i, ext, i, i))
	}
	slices.Sort(want)
	rng.Shuffle(n, func(i, k int) { rows[i], rows[k] = rows[k], rows[i] })
	table = listing(t, folder(t, files...))
	labels = filepath.Join(t.TempDir(), "pairs.csv")
	if err := os.WriteFile(labels, []byte("mask_file_name,n,file_name\n"+strings.Join(rows, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	return table, labels, want
}

// TestRowsAreSamples: a sample has the files of its row and no others, also from the state of a plan, without
// the table.
func TestRowsAreSamples(t *testing.T) {
	table, name, want := rowsOf(t, 500)
	o := opts("labels", name+" on=file_name also=mask_file_name")
	src := openTable(t, table, o)
	equal(t, describe(src), []string{"image:u8:image", "image.ext:u8(jpg,png)", "mask:u8:png", "n:i64"})
	equal(t, dump(t, src), want)
	state, err := src.(format.Stater).State()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	again, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: o, State: state, Page: pageOf(src)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	equal(t, dump(t, again), want)
}

// TestRowsConform: samples of rows are samples like others.
func TestRowsConform(t *testing.T) {
	table, name, _ := rowsOf(t, 120)
	for _, o := range []format.Options{opts("labels", name+" on=file_name also=mask_file_name"), opts("labels", name+" on=mask_file_name also=file_name", "keys", "ordinal")} {
		page := pageOf(openTable(t, table, o))
		readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
			return Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, State: state, Page: page, Options: o})
		})
	}
}
