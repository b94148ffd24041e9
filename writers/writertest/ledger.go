package writertest

import (
	"context"

	"github.com/shardify/shardify/storage"
)

// ledger counts the pending files that were neither committed nor aborted.
type ledger struct {
	storage.Store
	n int
}

// Unwrap is the store below.
func (l *ledger) Unwrap() any { return l.Store }

func (l *ledger) Create(name string) (storage.Pending, error) {
	p, err := l.Store.Create(name)
	if err != nil {
		return nil, err
	}
	l.n++
	return &entry{Pending: p, l: l}, nil
}

type entry struct {
	storage.Pending
	l     *ledger
	ended bool
}

// Unwrap is the file below.
func (e *entry) Unwrap() any { return e.Pending }

func (e *entry) end() {
	if !e.ended {
		e.ended = true
		e.l.n--
	}
}

func (e *entry) Commit(ctx context.Context) error {
	err := e.Pending.Commit(ctx)
	if err == nil {
		e.end()
	}
	return err
}

func (e *entry) Abort() error { e.end(); return e.Pending.Abort() }
