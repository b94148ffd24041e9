package rntuple

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
)

// TestTwinsAgree compares ntuples with the values expected of the trees that they
// were made from.
func TestTwinsAgree(t *testing.T) {
	type tree struct {
		Branches []struct {
			Name   string   `json:"name"`
			Values string   `json:"values_sha"`
			Counts []string `json:"counts_sha"`
		} `json:"branches"`
	}
	dir := filepath.Join(corpus.Dir(t, "root"), "rntuple")
	for file, name := range map[string]string{"nano_dy": "Events", "nano_dimuon": "Events", "nano_tree": "Events", "treemaker": "PreSelection"} {
		text, err := os.ReadFile(filepath.Join(dir, "..", "ttree", file+".root.expect.json"))
		if err != nil {
			t.Skip(err)
		}
		var want struct {
			Trees []struct {
				tree
				Path string `json:"path"`
			} `json:"trees"`
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, file+"_rntuple.root"))
		if err != nil {
			t.Skip(err)
		}
		n := openAll(t, b)[name]
		cols, err := readAll(n, every(n), []int64{0, n.Entries}, 1)
		if err != nil {
			t.Fatal(err)
		}
		byName := map[string]*shardify.Column{}
		for i := range cols {
			byName[cols[i].Name] = &cols[i]
		}
		same, other := 0, 0
		for _, tr := range want.Trees {
			for _, br := range tr.Branches {
				c := byName[br.Name]
				if tr.Path != name || c == nil || br.Values == "" {
					continue
				}
				ok := sha(c.Data) == br.Values && len(br.Counts) == c.Levels
				for l := 0; ok && l < c.Levels; l++ {
					o := c.Offsets[l]
					lengths := make([]int64, len(o)-1)
					for i := range lengths {
						lengths[i] = o[i+1] - o[i]
					}
					ok = sha(shardify.Bytes(lengths)) == br.Counts[l]
				}
				if same++; !ok {
					same--
					other++
					t.Errorf("%s %s differs (%v, %d levels)", file, br.Name, c.DType, c.Levels)
				}
			}
		}
		t.Logf("%s: %d of %d flats equal the tree's branches, %d differ", file, same, len(cols), other)
	}
}
