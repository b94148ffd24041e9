package blend

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/megatron"
)

// pairOf writes a pair of sequences of so many tokens.
func pairOf(t *testing.T, prefix string, d shardify.DType, lengths ...int32) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(prefix), 0o777); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, l := range lengths {
		n += int(l) * d.Size()
	}
	for ext, b := range map[string][]byte{".idx": megatron.Append(nil, d, lengths), ".bin": make([]byte, n)} {
		if err := os.WriteFile(prefix+ext, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileList(t *testing.T) {
	top := t.TempDir()
	pairOf(t, top+"/web/a/x_text_document", shardify.U16, 3, 4)
	pairOf(t, top+"/web/b", shardify.I32, 5, 0, 2)
	pairOf(t, top+"/books/x", shardify.U16, 7)
	pairOf(t, top+"/books/empty", shardify.U16)
	all, err := Corpora(context.Background(), "", top, "")
	if err != nil {
		t.Fatal(err)
	}
	all[1].Epochs = 0.75 // of web
	if err := Weigh(all); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]float64{"web/a/x_text_document": 7 * 0.75, "web/b": 7 * 0.75, "books/x": 7}
	rows := strings.Split(strings.TrimSuffix(string(FileList(all)), "\n"), "\n")
	if len(rows) != len(tokens) {
		t.Errorf("%q", rows)
	}
	for _, row := range rows {
		w := strings.Fields(row) // as the readers of the list do
		if len(w) != 3 {
			t.Fatalf("%q", row)
		}
		name, _ := strings.CutPrefix(w[1], top+"/")
		share, _ := strconv.ParseFloat(w[0], 64)
		want, _ := new(big.Float).Quo(big.NewFloat(tokens[name]), big.NewFloat(7*0.75+7*0.75+7)).Float64()
		if tokens[name] == 0 || share != want || w[2] != strings.Split(name, "/")[0] {
			t.Errorf("%q, want a share of %v", row, want)
		}
	}
	b, err := Meta(all)
	if err != nil {
		t.Fatal(err)
	}
	var meta []struct {
		P string `json:"data_prefix"`
		D int64  `json:"total_num_docs"`
		T int64  `json:"total_num_tokens"`
	}
	if err := json.Unmarshal(b, &meta); err != nil || len(meta) != 4 || meta[1].D != 1 || meta[2].D != 3 || meta[2].T != 7 || meta[2].P != top+"/web/b" {
		t.Errorf("%+v %v", meta, err)
	}
}

func TestBlendRefuses(t *testing.T) {
	top := t.TempDir()
	ctx := context.Background()
	fails := func(name, folder, split, want string) {
		t.Helper()
		all, err := Corpora(ctx, name, folder, split)
		if err == nil {
			err = Weigh(all)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
	fails("", top, "", "no pairs")
	pairOf(t, top+"/short/x", shardify.U16, 3)
	os.Truncate(top+"/short/x.bin", 4)
	fails("", top, "", "the data have 4")
	if _, err := Corpora(ctx, "", top+"/short", ""); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error(err)
	}
	os.Remove(top + "/short/x.bin")
	fails("", top+"/short", "", "no such file")
	pairOf(t, top+"/a b/x", shardify.U16, 3)
	fails("", top+"/a b", "", "white space")
	fails("ab", top+"/a b", "", "white space")
	pairOf(t, top+"/none/x", shardify.U16)
	fails("", top+"/none", "", "no tokens")
	os.MkdirAll(top+"/half/.shardify", 0o777)
	fails("", top+"/half", "", "not finished")
}
