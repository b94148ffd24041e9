package verify

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/minisign"
	"github.com/shardify/shardify/storage/storages"
)

// signature checks the signature of the manifest, and keeps what was signed: that is what is
// checked. A set of splits has one signature: its manifest names the digests of the others.
func (s *set) signature() error {
	key, err := minisign.ParseKey(s.o.PublicKey)
	if err != nil {
		return shardify.Usage("--public-key: %v", err)
	}
	if s.signed, err = s.text(index.ManifestName, decodes); err != nil {
		return err
	}
	const name = index.ManifestName + minisign.Suffix
	signature, err := s.text(name, nil)
	if err != nil {
		return shardify.Hint(fmt.Errorf("the manifest is not signed: %w", err), "who made the set can sign it: minisign -Sm "+index.ManifestName)
	}
	comment, err := key.Check(s.signed, signature)
	if err != nil {
		return shardify.Annotate(shardify.Corrupt(-1, "%v", err), "check", name, "")
	}
	s.c.report.Signed = fmt.Sprintf("key %s, %q", key, comment)
	return nil
}

// identify checks the id of the set, and keeps the manifest that has it: that is what is checked.
func (s *set) identify(ctx context.Context) (err error) {
	if s.signed, err = s.written(); err != nil {
		return err
	}
	m, err := index.DecodeManifest(s.signed)
	if err != nil {
		return err
	}
	digest, err := dataset.CheckID(ctx, storages.Files, s.o.Dir, s.o.ID)
	if err == nil && digest != m.Digest {
		err = shardify.Mismatch("the set was changed while it was checked")
	}
	if err == nil {
		s.c.report.ID = s.o.ID
	}
	return err
}
