package main

import "testing"

func TestHintsOfPythonNameKeywords(t *testing.T) {
	for hint, want := range map[string]string{
		"the same command with --on-error skip --fresh":                             `the same call with on_error="skip", fresh=True`,
		"leave --group-order out, or choose another format with --from or --format": `leave group_order= out, or choose another format with from_= or format=`,
		"leave --where out":                                              `leave where= out`,
		"leave such rows out: --null-keys drop":                          `leave such rows out: null_keys="drop"`,
		"give it more: --memory, or take fewer columns: take=COLUMN,...": `give it more: memory=, or take fewer columns: take=COLUMN,...`,
		"fewer --jobs or a smaller --shard-size need less":               `fewer jobs= or a smaller shard_size= need less`,
		"choose another folder: -o 'a b-2'":                              `choose another folder: out="a b-2"`,
		"choose another folder for it: --scratch FOLDER":                 `choose another folder for it: scratch=FOLDER`,
		"if only the time is another: --ignore-times":                    `if only the time is another: ignore_times=True`,
		"--csv encoding=utf16 reads it as it is":                         `csv="encoding=utf16" reads it as it is`,
		"--where 'x == '\\''a'\\''' or --limit 5":                        `where="x == 'a'" or limit=5`,
		"did you mean: shard-size":                                       "did you mean: shard_size",
		"did you mean: --split-from dirs":                                `did you mean: split_from="dirs"`,
		"classes: --labels folder; one set: --split-from none":           `classes: labels="folder"; one set: split_from="none"`,
		"what is damaged: shardify verify --sample 3 'a b'":              "what is damaged: shardify verify --sample 3 'a b'",
		"see --help, -- and it's --elsewhere":                            "see --help, -- and it's --elsewhere",
	} {
		if got := inPython(hint); got != want {
			t.Errorf("%s\n got %s\nwant %s", hint, got, want)
		}
	}
}
