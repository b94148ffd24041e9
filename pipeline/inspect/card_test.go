package inspect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

func TestCardsOfHostileNamesAreWellFormed(t *testing.T) {
	hostile := "a|b`\n---\n\x1b[31m<script>\"$x é"
	m := &index.Manifest{Format: "wds", Samples: 12345, Members: map[string]string{}, Shards: []shardify.Shard{{Name: "shard-000000.tar", Samples: 12345}},
		Schema: []shardify.Field{
			{Name: "v", DType: shardify.F32, Levels: 1, Shape: []int{4}},
			{Name: "txt", DType: shardify.U8, Levels: 2, Media: "txt"},
			{Name: "a b/é", DType: shardify.I64, Attrs: map[string]string{"labels": hostile, "unit": hostile}},
			{Name: "image", DType: shardify.U8, Levels: 1, Media: "image"},
			{Name: "image.ext", DType: shardify.U8, Attrs: map[string]string{"labels": "png"}},
		}, Recipe: map[string]string{"where": hostile}}
	c := &Card{Name: hostile, Manifest: m, Use: "shardify inspect FOLDER"}
	b, err := c.Croissant()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Name      string `json:"name"`
		RecordSet []struct {
			ID    string `json:"@id"`
			Field []struct {
				ID    string `json:"@id"`
				Type  string `json:"dataType"`
				Shape string `json:"arrayShape"`
			} `json:"field"`
			Data []map[string]any `json:"data"`
		} `json:"recordSet"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != hostile || len(got.RecordSet) != 3 || got.RecordSet[1].ID != "names/a%20b%2F%C3%A9" || len(got.RecordSet[1].Data) != 3 {
		t.Errorf("%s", b)
	}
	var fields []string
	for _, f := range got.RecordSet[0].Field {
		fields = append(fields, f.ID+" "+f.Type+" "+f.Shape)
	}
	if s := strings.Join(fields, ";"); s != "samples/v cr:Float32 -1,4;samples/txt sc:Text -1;samples/a%20b%2F%C3%A9 cr:Int64 ;samples/image sc:ImageObject " {
		t.Error(s)
	}
	b, _ = c.HuggingFace()
	text := string(b)
	if strings.Count(text, "\n---\n") != 1 || strings.Contains(text, "\x1b") || strings.Contains(strings.ReplaceAll(text, `\<`, ""), "<script") || !strings.Contains(text, "10K<n<100K") {
		t.Error(text)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| ") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 4 {
			t.Errorf("cells of %q", line)
		}
	}
}
