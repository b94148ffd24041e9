package propose

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// TestTablesThatNameFiles: a column has names of files in whatever form; other tables say nothing of them.
func TestTablesThatNameFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.csv", "image,x\n1.jpg,5\n2.jpg,6\n", "--key image --labels a.csv"},
		{"a.csv", "x,image\n5,a/1\n6,a/2\n", "--key image --labels a.csv"},
		{"a.csv", "label,image\n1,1.jpg\n1,2.jpg\n", "--key image --labels a.csv"},
		{"a.csv", "id,image\n1,1.jpg\n2,2.jpg\n", "--key image --labels a.csv"},
		{"a.csv", "id,x\n1,5\n2,6\n", "--key id --labels a.csv"},
		{"a.csv", "x,id\n7,./a/1.jpg\n8,./a/2.jpg\n", "--key id --labels a.csv"},
		{"a.tsv", "id\tx\n1\t5\n1\t6\n2\t6\n", "--key id --labels 'a.tsv rows=many'"},
		{"a.jsonl", "{\"file_name\":\"1.jpg\",\"text\":\"x\"}\n{\"file_name\":\"2.jpg\",\"text\":\"y\"}\n", "--key file_name --labels a.jsonl"},
		{"a.csv", "image\n1.jpg\n2.jpg\n", ""},                   // nothing but names
		{"a.csv", "image,x\n8.jpg,5\n9.jpg,6\n", ""},             // of other files
		{"sample_submission.csv", "id,x\n1,0\n2,0\n", ""},        // to be filled in
		{"a.csv", "image,x\n1.jpg\n2.jpg,6,7\n", ""},             // damaged
		{"a.jsonl", "{\"file_name\":[\"1.jpg\"],\"x\":7}\n", ""}, // lists
		{"instances_val.json", `{"images":[{"id":1,"file_name":"1.jpg"}],"annotations":[{"id":1}]}`, "--labels instances_val.json"},
		{"a.json", `{"images":[{"id":1,"file_name":"1.jpg"}]}`, ""},
		{"a.jsonl", "{\"f\":\"1.jpg\",\"g\":\"2.jpg\",\"x\":\"\"}\n{\"f\":\"2.jpg\",\"g\":\"2.jpg\",\"x\":\"\"}\n", "--key f --labels a.jsonl without g"},
		{"a.jsonl", "{\"f\":\"1.jpg\",\"g\":\"a/2.jpg\",\"x\":\"\"}\n", "--labels 'a.jsonl on=f also=g'"},
		{"captions.txt", "image,caption\n1.jpg,a cat\n1.jpg,\"a cat, or two\"\n2.jpg,a dog\n", "--key image --labels 'captions.txt rows=many'"},
		{"notes.txt", "1.jpg is better than 2.jpg\n", ""},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		table := &format.Table{Roots: []string{dir}}
		table.Append(0, "a/1.jpg", 1, 1)
		table.Append(0, "a/2.jpg", 1, 1)
		t.Chdir(dir)
		table.Roots[0] = "."
		got := ""
		for _, p := range Look(t.Context(), files{source{schema: []shardify.Field{{Name: "jpg"}}}}, table, false) {
			got += p.Flags()
			for _, name := range p.Without {
				got += " without " + name
			}
		}
		if got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
