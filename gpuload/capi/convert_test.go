package main

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/pipeline"
)

func TestSettingsComeAsJSON(t *testing.T) {
	s, err := settingsOf([]byte(`{"inputs":["a b","\u00e9\ud83d\ude00"],"limit":3,"provenance":true,"where":"x > 1","shard-size":1048577,"labels":"folder","split":"a=0.5,b=0.5"}`))
	want := pipeline.Settings{Inputs: []string{"a b", "é😀"}, Limit: 3, Provenance: true, Where: []string{"x > 1"}, ShardSize: 1<<20 + 1, Split: "a=0.5,b=0.5", Options: map[string]string{"labels": "folder"}}
	if err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v", s, err)
	}
	for text, why := range map[string]string{
		`[]`: "settings", `{"limit":{}}`: "want words or numbers", `{"where":[["a"]]}`: "want words or numbers", `{"limit":null}`: "want words or numbers",
		`{"limit":[1,2]}`: "want one value", `{"limit":[]}`: "want one value", `{"limit":1.5}`: "want a whole number", `{"limmit":1}`: "unknown key", `{"fresh":"x"}`: "want true or false",
	} {
		if _, err := settingsOf([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
}

// TestAConversionIsStoppedAndGoesOn, and says how it ended in words that a caller knows.
func TestAConversionIsStoppedAndGoesOn(t *testing.T) {
	var settings []byte
	for again := 0; ; again++ { // a conversion may be faster than who stops it
		settings = []byte(`{"from":"synth","samples":200000,"schema":"x:f32[16]","shard-samples":2000,"jobs":1,"sync":"none","output":"` + filepath.Join(t.TempDir(), "out") + `"}`)
		c, err := begin(settings)
		if err != nil {
			t.Fatal(err)
		}
		c.stop()
		ended := false
		for !ended {
			_, ended, err = c.wait(time.Millisecond)
		}
		if err == nil && again < 100 {
			continue
		}
		if !errors.Is(err, convert.ErrStopped) || !strings.Contains(encodeError(err), `"kind":"stopped"`) {
			t.Fatalf("%v: %s", err, encodeError(err))
		}
		break
	}
	c, err := begin(settings)
	if err != nil {
		t.Fatal(err)
	}
	about, ended, err := c.wait(10 * time.Minute)
	if r, ok := about.(*converted); err != nil || !ended || !ok || r.Samples != 200000 || r.Shards != 100 || r.Already {
		t.Errorf("%+v, %v", about, err)
	}
	if text := encodeError(shardify.Hint(shardify.Usage("bad"), "better")); !strings.Contains(text, `"kind":"usage"`) || !strings.Contains(text, `"hints":["better"]`) {
		t.Error(text)
	}
}
