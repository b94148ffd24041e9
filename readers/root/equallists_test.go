package root

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// counters are the counters of the fields of some inputs.
func counters(t *testing.T, o format.Options, columns []string, files ...string) map[string]string {
	t.Helper()
	src, err := openFiles(o, columns, files...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	out := map[string]string{}
	for _, f := range src.Schema() {
		if f.Levels > 0 {
			out[f.Name] = f.Counter
		} else if strings.HasPrefix(f.Name, "nJet") && f.DType != shardify.U32 && f.DType != shardify.I32 {
			t.Errorf("%s is %s, not of the type in the file", f.Name, f.DType)
		}
	}
	return out
}

func TestEqualCountersAreShared(t *testing.T) {
	a, b := testdata("keys/own-0.root"), testdata("keys/own-1.root")
	jets := "Jet_eta:nJet_pt Jet_id:nJet_pt Jet_pt:nJet_pt Jet_sub:nJet_sub"
	for _, c := range []struct {
		what  string
		o     format.Options
		cols  []string
		files []string
		want  string
	}{
		{"one file", nil, nil, []string{a}, jets + " Muon_eta:nMuon_pt Muon_pt:nMuon_pt"},
		{"not compressed", nil, nil, []string{b}, jets + " Muon_eta:nMuon_eta Muon_pt:nMuon_pt"},
		{"two files", nil, nil, []string{a, b}, jets + " Muon_eta:nMuon_eta Muon_pt:nMuon_pt"},
		{"the other order", nil, nil, []string{b, a}, jets + " Muon_eta:nMuon_eta Muon_pt:nMuon_pt"},
		{"some columns", nil, []string{"Jet_id", "Jet_eta"}, []string{a, b}, "Jet_eta:nJet_eta Jet_id:nJet_eta"},
		{"not asked for", format.Options{"counters": "own"}, []string{"Jet_*"}, []string{a}, "Jet_eta:nJet_eta Jet_id:nJet_id Jet_pt:nJet_pt Jet_sub:nJet_sub"},
	} {
		got := fmt.Sprint(counters(t, c.o, c.cols, c.files...))
		if got != "map["+c.want+"]" {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	shared, err := load(nil, nil, 1<<10, a, b)
	if err != nil {
		t.Fatal(err)
	}
	own, err := load(format.Options{"counters": "own"}, nil, 1<<10, a, b)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range own.cols {
		got := shared.cols[name]
		if string(got.Data) != string(c.Data) || c.Levels > 0 && string(shardify.Bytes(got.Offsets[0])) != string(shardify.Bytes(c.Offsets[0])) {
			t.Errorf("%s has other values when counters are shared", name)
		}
	}
}

// TestSharedCountersAreCompared: what differs where the plan did not look is an error.
func TestSharedCountersAreCompared(t *testing.T) {
	late := testdata("keys/own-late.root")
	if got := fmt.Sprint(counters(t, nil, nil, late)); got != "map[Jet_eta:nJet_eta Jet_pt:nJet_pt]" {
		t.Errorf("%s: the survey looks at all of so few", got)
	}
	defer func(n int64) { alikeEntries = n }(alikeEntries)
	alikeEntries = 300
	if got := fmt.Sprint(counters(t, nil, nil, late)); got != "map[Jet_eta:nJet_pt Jet_pt:nJet_pt]" {
		t.Errorf("%s: the survey does not look so far", got)
	}
	_, err := load(nil, nil, 1<<20, late)
	if err == nil || !strings.Contains(err.Error(), "--counters own") || !strings.Contains(err.Error(), "own-late.root") || !strings.Contains(err.Error(), "Jet_eta sample 35") {
		t.Errorf("%v", err)
	}
	if _, err := load(format.Options{"counters": "own"}, nil, 1<<20, late); err != nil {
		t.Error(err)
	}
}
