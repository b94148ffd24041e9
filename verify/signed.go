package verify

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/minisign"
)

// signed checks the signature of the manifest, and says whose it is. A set of splits has one
// signature: its manifest names the digests of the others.
func (o *Options) signed() (string, error) {
	key, err := minisign.ParseKey(o.PublicKey)
	if err != nil {
		return "", shardify.Usage("--public-key: %v", err)
	}
	s := &set{store: o.Store}
	manifest, err := s.text(index.ManifestName)
	if err != nil {
		return "", err
	}
	const name = index.ManifestName + minisign.Suffix
	signature, err := s.text(name)
	if err != nil {
		return "", shardify.Hint(fmt.Errorf("the manifest is not signed: %w", err), "who made the set can sign it: minisign -Sm "+index.ManifestName)
	}
	comment, err := key.Check(manifest, signature)
	if err != nil {
		return "", shardify.Annotate(shardify.Corrupt(-1, "%v", err), "check", name, "")
	}
	return fmt.Sprintf("key %s, %q", key, comment), nil
}
