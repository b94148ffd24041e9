package verify

import (
	"context"
	"fmt"

	"github.com/shardify/shardify/storage"
)

// repairFile replaces a file by its right content. nil content means that it could not be
// determined.
func (s *set) repairFile(ctx context.Context, name string, content []byte) error {
	full := s.prefix + name
	if content == nil {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		s.c.report.Done = append(s.c.report.Done, full+": cannot be rebuilt, the shard or the receipts it follows from are damaged too")
		return nil
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := storage.Replace(ctx, s.store, name, content); err != nil {
		return fmt.Errorf("repair %s: %w", full, err)
	}
	s.c.repaired(full, fmt.Sprintf("%s: rebuilt, %d bytes", full, len(content)))
	return nil
}
