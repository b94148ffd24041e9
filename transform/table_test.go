package transform_test

import (
	"os"
	"strings"
	"testing"

	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform"
)

// TestEveryKindDescribesItself: its example is a value that it takes, and its flag's help
// has the form of one.
func TestEveryKindDescribesItself(t *testing.T) {
	table := &format.Table{Roots: []string{""}}
	for _, name := range []string{"sig/a.root", "bg/b.root"} {
		table.Append(0, name, 0, 0)
	}
	for i := range transform.Table {
		k := &transform.Table[i]
		if i > 0 && k.Phase < transform.Table[i-1].Phase {
			t.Errorf("%s is behind kinds of a later phase", k.Name)
		}
		values := []string{k.Example}
		if k.Name == transform.Set {
			values = append(values, "label=0")
		}
		ops, err := transform.Settings{k.Name: values}.Ops(table)
		if err == nil {
			_, err = transform.Compile(ops, flow.Env{Table: table, Splits: []string{"train", "val"}})
		}
		if err != nil || len(ops) != 1 {
			t.Errorf("%s: %v, %v", k.Name, ops, err)
		}
		if u := k.Usage(); strings.Count(u, "`") != 2 || strings.HasSuffix(u, ".") || k.Help == "" {
			t.Errorf("%s: %s", k.Name, u)
		}
		if transform.Lookup(k.Name) != k {
			t.Errorf("%s is not found", k.Name)
		}
	}
}

// TestTheDocsHaveTheOrder: docs/guides/shape.md shows the order of the table, and has a line for
// each kind.
func TestTheDocsHaveTheOrder(t *testing.T) {
	b, err := os.ReadFile("../docs/guides/shape.md")
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for i := range transform.Table {
		name := transform.Table[i].Name
		order = append(order, name)
		if !strings.Contains(string(b), "`--"+name+"`") {
			t.Errorf("docs/guides/shape.md says nothing of --%s", name)
		}
		if name == transform.DropDuplicates {
			order = append(order, "split")
		}
	}
	if want := strings.Join(order, " -> "); !strings.Contains(string(b), "\n"+want+"\n") {
		t.Errorf("docs/guides/shape.md has another order than %s", want)
	}
}

func TestASingleTransform(t *testing.T) {
	for name, value := range map[string]string{transform.Copies: "2", "nothing": "x", transform.Where: "n >", transform.Set: "x=1@*.root"} {
		if tr, err := transform.New(name, value, nil); err == nil {
			t.Errorf("--%s %s makes %T", name, value, tr)
		}
	}
}
