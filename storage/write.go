package storage

import (
	"context"
	"errors"
)

// WriteFile publishes a small file.
func WriteFile(ctx context.Context, s Store, name string, b []byte) error {
	f, err := s.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := f.Commit(ctx); err != nil {
		return errors.Join(err, f.Abort())
	}
	return nil
}
