package settings

import (
	"fmt"
	"slices"
	"testing"
)

// TestKeysAreComplete: each says what a set keeps of it, and when it has an effect.
func TestKeysAreComplete(t *testing.T) {
	for i := range Keys {
		k := &Keys[i]
		if k.Kept == 0 {
			t.Errorf("%s does not say whether a set keeps it", k.Name)
		}
		r := &k.Rules
		if r.Why == "" && r.With == nil && r.Useless == nil {
			t.Errorf("%s does not say when it has an effect", k.Name)
		}
		if r.Alone != "" && k.Kept == NotKept {
			t.Errorf("%s is not kept, so that a set does not show that it was made with it", k.Name)
		}
		names := slices.Clone(r.With)
		for _, x := range r.Not {
			names = append(names, x.Name)
		}
		for _, name := range names {
			if Lookup(name) == nil {
				t.Errorf("%s: no setting %s", k.Name, name)
			}
		}
	}
}

// TestASettingMayExcludeSeveral: rules that are made of others leave those as they are.
func TestASettingMayExcludeSeveral(t *testing.T) {
	one := always.not("limit", "why")
	two, other := one.not("range", ""), one.not("seed", "")
	for want, r := range map[string]Rules{"[]": always, "[{limit why}]": one, "[{limit why} {range }]": two, "[{limit why} {seed }]": other} {
		if got := fmt.Sprint(r.Not); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
