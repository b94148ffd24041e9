package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestLicencesAreThoseOfTheModules compares THIRD_PARTY_LICENSES with what is linked now.
func TestLicencesAreThoseOfTheModules(t *testing.T) {
	t.Chdir("../..")
	var b bytes.Buffer
	if err := run(&b, ""); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("THIRD_PARTY_LICENSES")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Error("THIRD_PARTY_LICENSES is not that of the modules in go.mod: run make licences")
	}
}

// TestSPDXNamesEveryModule reads the list back.
func TestSPDXNamesEveryModule(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	var b bytes.Buffer
	if err := run(&b, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		CreationInfo struct{ Created string }
		Packages     []struct {
			SPDXID, Name, VersionInfo, LicenseConcluded string
		}
		Relationships []struct{ SpdxElementID, RelationshipType, RelatedSpdxElement string }
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if got := doc.CreationInfo.Created; got != "2023-11-14T22:13:20Z" {
		t.Errorf("created %s", got)
	}
	known := map[string]bool{}
	for _, p := range doc.Packages {
		known[p.SPDXID] = true
		if p.VersionInfo == "" || p.LicenseConcluded == "" {
			t.Errorf("%s has no version or no licence", p.Name)
		}
	}
	if len(known) != len(doc.Packages) || len(known) < 15 {
		t.Errorf("%d packages with %d names", len(doc.Packages), len(known))
	}
	for _, r := range doc.Relationships {
		if !known[r.RelatedSpdxElement] {
			t.Errorf("%s is not described", r.RelatedSpdxElement)
		}
	}
}
