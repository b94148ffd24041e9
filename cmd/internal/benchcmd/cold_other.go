//go:build !linux

package benchcmd

import (
	"context"

	"github.com/shardify/shardify/cmd/internal/cli"
)

func cold(_ context.Context, o *cli.IO, _ []string) {
	o.Note("this system cannot be asked to drop cached files: --cold does nothing")
}
