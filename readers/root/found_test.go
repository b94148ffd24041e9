package root

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/corpus"
)

// TestFilesOfOtherProjects reads files that others use to test their readers. Sums
// are of all values, and of the lengths of the innermost lists; they were computed
// from the baskets' bytes.
func TestFilesOfOtherProjects(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "found"), "root")
	const alice, aod = "roottest__root__meta__MakeProject__alice_ESDs.root", "roottest__root__meta__MakeProject__small_aod.pool.root"
	for _, c := range []struct {
		name, file, object, column string
		samples                    int64
		values, lists              string // short sums
	}{
		{"arrays of elements, counted by another member", alice, "esdTree", "Tracks.fTPCClusterMap.fAllBits", 20, "21539a9b6930c5900090cf849023d30f", "fad5f40375c1a82a2734265d8ffe0300"},
		{"the same, without an element", alice, "HLTesdTree", "Tracks.fTPCClusterMap.fAllBits", 20, "", ""},
		{"pairs written one by one", aod, "CollectionTree", "TauJetContainer_p3_TauRecContainer.vector<TauJet_p3>.m_params.first", 2, "e7fbc87893f8b4c817b7a719c436ac9b", "8ba2fbaea27c6cc8fae9fd7d13f252c7"},
		{"pairs written one by one", aod, "CollectionTree", "TauJetContainer_p3_TauRecContainer.vector<TauJet_p3>.m_params.second", 2, "e6e333f66f98c38f2df08bd232ab4773", "8ba2fbaea27c6cc8fae9fd7d13f252c7"},
		{"strings of elements, none", "roottest__root__treeformula__scan__missingString.root", "t", "event.fSambaSubRecs.fRunName", 15, "", ""},
	} {
		got, err := load(format.Options{"object": c.object}, []string{c.column}, 1<<20, filepath.Join(dir, c.file))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		col := got.cols[c.column]
		if c.values == "" {
			if len(col.Data) != 0 || got.samples != c.samples {
				t.Errorf("%s: %d bytes of values in %d samples", c.name, len(col.Data), got.samples)
			}
			continue
		}
		v, l := short(col.Data), short(lengths(col.Offsets[len(col.Offsets)-1]))
		if got.samples != c.samples || v != c.values || l != c.lists {
			t.Errorf("%s: %d samples, values %s, lists %s", c.name, got.samples, v, l)
		}
	}
}

// TestOneBadBranchDoesNotCostTheTree: what has no bytes or no counts is left out, and
// the rest is read.
func TestOneBadBranchDoesNotCostTheTree(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "found"), "root")
	for _, c := range []struct {
		file, object, left, says string
		samples                  int64
	}{
		{"skhep__uproot-mc10events.root", "Events", "Info.triggerBits", "stored no value", 10},
	} {
		got, err := load(format.Options{"object": c.object}, nil, 1<<20, filepath.Join(dir, c.file))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		said := ""
		for _, l := range got.left {
			if l.Name == c.left {
				said = l.Reason
			}
		}
		if got.samples != c.samples || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d samples, %s left out because %q", c.file, got.samples, c.left, said)
		}
	}
}

// TestOneVectorInABranch: a branch with one TLorentzVector, TVector2 or TVector3, written
// by the streamers of these classes; sums are of the values that uproot gives.
func TestOneVectorInABranch(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "root"), "ttree")
	for _, c := range []struct{ file, column, values string }{
		{"TLorentzVector.root", "LV.fE", "9bd365f74d9fd56a3b7fd2d459d42d3e"},
		{"TLorentzVector.root", "LV.fP.fZ", "5f74e3b5327e50e97a84c18209aa6c86"},
		{"tlv-split00.root", "p4.fP.fX", "c29605eb4e50fbb653a19f1a28c4f095"}, // split level 0 makes a TBranchObject
		{"tlv-split00.root", "p4.fE", "b6f7d5dadbdf833fccfb85157fa7c181"},
		{"tlv-split01.root", "p4.fE", "b6f7d5dadbdf833fccfb85157fa7c181"},
		{"uproot-HZZ-objects.root", "MET.fY", "05d28d7f3285dbd6b04c205b8c39f23b"},
		{"uproot-HZZ-objects.root", "MC_lepton.fZ", "4e728aaa35ef514ebc576a5639b537af"},
	} {
		got, err := load(nil, []string{c.column}, 1<<20, filepath.Join(dir, c.file))
		if err != nil {
			t.Errorf("%s %s: %v", c.file, c.column, err)
		} else if v := short(got.cols[c.column].Data); v != c.values {
			t.Errorf("%s %s: values %s", c.file, c.column, v)
		}
	}
}

// TestDamageIsNeverLeftOut: a damaged record of a branch ends the survey, unless the
// branch is excluded; so does a list of branches that lacks something.
func TestDamageIsNeverLeftOut(t *testing.T) {
	found := filepath.Join(corpus.Path("found"), "root")
	dir := t.TempDir()
	// changed is a file of testdata whose tree has other bytes in its record.
	changed := func(name, from, to string) string {
		file, err := os.ReadFile(testdata(name))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := plainMetadata(file, name)
		if err != nil {
			t.Fatal(err)
		}
		meta := bytes.Replace(bytes.Clone(plain[len(file):]), []byte(from), []byte(to), 1)
		if bytes.Equal(meta, plain[len(file):]) || len(from) != len(to) {
			t.Fatalf("%s has no %q", name, from)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, append(plain[:len(file):len(file)], meta...), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ name, file, column, says string }{
		{"a basket table", filepath.Join(found, "lost.root"), "ArrI32", "lost.root tree ArrI32 at byte 9948: TBranch version 13 has 223 more bytes"},
		{"a leaf", filepath.Join(found, "panic_min.root"), "evt.N", "evt.N at byte 12379: reference to an object"},
		{"the class of leaves", changed("friend-1.root", "TLeafF\x00", "ULeafF\x00"), "score", "is not one"},
		{"the class of branches", changed("order.root", "TBranch\x00", "TBrench\x00"), "*", "list of branches is not one"},
	} {
		if _, err := os.Stat(c.file); err != nil {
			continue
		}
		_, err := load(nil, nil, 1<<20, c.file)
		if err == nil || !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
		if c.column == "*" {
			continue
		}
		if got, err := load(nil, []string{"!" + c.column}, 1<<20, c.file); err != nil {
			t.Errorf("%s: without the column: %v", c.name, err)
		} else if _, ok := got.cols[c.column]; ok || len(got.cols) == 0 {
			t.Errorf("%s: without the column: there are %d", c.name, len(got.cols))
		}
	}
}
