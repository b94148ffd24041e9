// Command licences writes the licence texts of all that is linked into the programs and
// the loader's library, or a list of it in SPDX 2.3.
//
//	go run ./bench/licences >build/THIRD_PARTY_LICENSES
//	go run ./bench/licences -spdx VERSION >sbom.spdx.json
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A module is one module in the output of go list, with the licence texts of the packages that are
// linked.
type module struct {
	Path, Version, Sum, Dir string
	texts                   map[string]bool // files, absolute
}

// linked are the packages whose dependencies are shipped, and how they are built.
var linked = []struct{ env, pkg string }{
	{"CGO_ENABLED=0", "./cmd/shardify"},
	{"CGO_ENABLED=0", "./cmd/verify"},
	{"CGO_ENABLED=0", "./cmd/shardify-gpu"},
	{"CGO_ENABLED=1", "./gpuload/capi"},
}

var notOfID = regexp.MustCompile(`[^A-Za-z0-9.-]`)

// legal matches the names of files with licences.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents)(\.(txt|md))?$`)

// kinds recognizes licences by a sentence that only they have; the first one counts.
var kinds = []struct{ name, sentence string }{
	{"Apache-2.0", "Apache License"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "Permission to use, copy, modify, and"},
	{"BSD-3-Clause", "may be used to endorse or promote products"},
	{"BSD-2-Clause", "Redistributions of source code must retain"},
}

func main() {
	version := flag.String("spdx", "", "write SPDX 2.3 in JSON for this version of shardify")
	flag.Parse()
	err := run(os.Stdout, *version)
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, version string) error {
	found := map[string]*module{}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, l := range linked {
			if err := collect(found, arch, l.env, l.pkg); err != nil {
				return err
			}
		}
	}
	mods := make([]*module, 0, len(found))
	for _, path := range slices.Sorted(maps.Keys(found)) {
		mods = append(mods, found[path])
	}
	if version != "" {
		return spdx(w, mods, version)
	}
	return texts(w, mods)
}

// collect adds the modules that pkg is linked from.
func collect(found map[string]*module, arch, env, pkg string) error {
	cmd := exec.Command("go", "list", "-deps", "-tags", "cuda", "-json=Dir,Standard,Module", pkg)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, env)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", pkg, err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir      string
			Standard bool
			Module   *struct {
				Path, Version, Sum, Dir string
				Main                    bool
			}
		}
		if err := d.Decode(&p); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := found[p.Module.Path]
		if m == nil {
			m = &module{p.Module.Path, p.Module.Version, p.Module.Sum, p.Module.Dir, map[string]bool{}}
			found[m.Path] = m
		}
		if err := m.add(p.Dir); err != nil {
			return err
		}
	}
}

// add collects the legal files of a package: those of its folder and of the folders above it.
func (m *module) add(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		list, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range list {
			if legal.MatchString(e.Name()) && !e.IsDir() {
				m.texts[filepath.Join(dir, e.Name())] = true
			}
		}
		if dir == m.Dir {
			return nil
		}
		if !strings.HasPrefix(dir, m.Dir) {
			return fmt.Errorf("%s lies outside %s", dir, m.Dir)
		}
	}
}

// kind is the SPDX name of the licence in the module's own folder.
func (m *module) kind() (string, error) {
	for _, f := range slices.Sorted(maps.Keys(m.texts)) {
		if filepath.Dir(f) != m.Dir || !strings.HasPrefix(strings.ToLower(filepath.Base(f)), "licen") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		one := strings.Join(strings.Fields(string(b)), " ")
		var names []string
		for _, k := range kinds {
			if strings.Contains(one, k.sentence) && !(k.name == "BSD-2-Clause" && slices.Contains(names, "BSD-3-Clause")) {
				names = append(names, k.name)
			}
		}
		if len(names) > 0 {
			return strings.Join(names, " AND "), nil
		}
	}
	return "", fmt.Errorf("the licence of %s is not known: look at it, and add a sentence to the table", m.Path)
}

const rule = "================================================================================\n"

func texts(w io.Writer, mods []*module) error {
	var b bytes.Buffer
	b.WriteString("shardify is linked from these modules. Their licences follow.\n\n")
	for _, m := range mods {
		k, err := m.kind()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%-42s %-38s %s\n", m.Path, m.Version, k)
	}
	fmt.Fprintf(&b, "%-42s %-38s %s\n", "The Go standard library and runtime", "", "BSD-3-Clause")
	for _, m := range mods {
		for _, f := range slices.Sorted(maps.Keys(m.texts)) {
			rel, err := filepath.Rel(m.Dir, f)
			if err != nil {
				return err
			}
			if err := text(&b, m.Path+": "+filepath.ToSlash(rel), f); err != nil {
				return err
			}
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	for _, name := range []string{"LICENSE", "PATENTS"} {
		if err := text(&b, "Go: "+name, filepath.Join(strings.TrimSpace(string(root)), name)); err != nil {
			return err
		}
	}
	_, err = w.Write(b.Bytes())
	return err
}

func text(b *bytes.Buffer, title, file string) error {
	t, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "\n%s%s\n%s\n%s\n", rule, title, rule, bytes.TrimSpace(bytes.ReplaceAll(t, []byte("\r"), nil)))
	return nil
}

// spdx writes the modules as SPDX 2.3. Its time is SOURCE_DATE_EPOCH, so that it is the same for the same commit.
func spdx(w io.Writer, mods []*module, version string) error {
	type ref struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	type pkg struct {
		ID       string `json:"SPDXID"`
		Name     string `json:"name"`
		Version  string `json:"versionInfo"`
		Location string `json:"downloadLocation"`
		Analyzed bool   `json:"filesAnalyzed"`
		Licence  string `json:"licenseConcluded"`
		Declared string `json:"licenseDeclared"`
		Text     string `json:"copyrightText"`
		Comment  string `json:"comment,omitempty"`
		Refs     []ref  `json:"externalRefs,omitempty"`
	}
	type rel struct {
		From string `json:"spdxElementId"`
		Kind string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
	seconds, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "0"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	const own = "SPDXRef-Package-shardify"
	pkgs := []pkg{{ID: own, Name: "shardify", Version: version, Location: "NOASSERTION", Licence: "BSD-3-Clause", Declared: "BSD-3-Clause", Text: "NOASSERTION"}}
	rels := []rel{{"SPDXRef-DOCUMENT", "DESCRIBES", own}}
	for _, m := range mods {
		k, err := m.kind()
		if err != nil {
			return err
		}
		id := "SPDXRef-Package-" + notOfID.ReplaceAllString(m.Path, "-")
		pkgs = append(pkgs, pkg{
			ID: id, Name: m.Path, Version: m.Version, Location: "https://proxy.golang.org/" + m.Path + "/@v/" + m.Version + ".zip",
			Licence: k, Declared: k, Text: "NOASSERTION", Comment: "sum in go.sum: " + m.Sum,
			Refs: []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + m.Path + "@" + m.Version}},
		})
		rels = append(rels, rel{own, "DEPENDS_ON", id})
	}
	doc := map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "shardify-" + version,
		"documentNamespace": "https://github.com/shardify/shardify/spdx/" + version,
		"creationInfo":      map[string]any{"created": time.Unix(seconds, 0).UTC().Format(time.RFC3339), "creators": []string{"Tool: shardify-bench-licences"}},
		"packages":          pkgs, "relationships": rels,
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(doc)
}
