package main

import (
	"github.com/shardify/shardify/cmd/internal/verifycmd"
	"github.com/spf13/cobra"
)

// verifyCommand is what the program verify does.
func verifyCommand(p *program) *cobra.Command { return verifycmd.New(p.IO, "shardify verify") }
