package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestLicencesOfTheModules: each module that go.mod requires directly has its text in the list.
func TestLicencesOfTheModules(t *testing.T) {
	t.Chdir("../..")
	var b bytes.Buffer
	if err := run(&b, ""); err != nil {
		t.Fatal(err)
	}
	list := b.String()
	for _, m := range []string{"github.com/klauspost/compress", "github.com/parquet-go/parquet-go", "github.com/schollz/progressbar/v3", "golang.org/x/sys"} {
		if !strings.Contains(list, m) {
			t.Errorf("%s is missing", m)
		}
	}
	for _, text := range []string{"Apache License", "Permission is hereby granted, free of charge", "Redistributions of source code must retain"} {
		if !strings.Contains(list, text) {
			t.Errorf("no licence has the words %q", text)
		}
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
