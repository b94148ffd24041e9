package chars_test

import (
	"fmt"

	"github.com/shardify/shardify/tokenize/chars"
)

func ExampleForm_Apply() {
	nfkc := chars.NewForm(true, true)
	out, err := nfkc.Apply(nil, []byte("e\u0301 \ufb01 \uff11"), 0)
	fmt.Printf("%s %v\n", out, err)
	// Output:
	// é fi 1 <nil>
}

func ExampleClusterLen() {
	t := chars.ClusterTable()
	for s := []byte("e\u0301\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7\U0001f469\u200d\U0001f4bb\r\n\u1100\u1161\u11a8क्षि"); len(s) > 0; {
		n := chars.ClusterLen(s, t)
		fmt.Printf("%+q ", s[:n])
		s = s[n:]
	}
	// Output:
	// "e\u0301" "\U0001f1e9\U0001f1ea" "\U0001f1eb\U0001f1f7" "\U0001f469\u200d\U0001f4bb" "\r\n" "\u1100\u1161\u11a8" "\u0915\u094d\u0937\u093f"
}
