package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/benchcmd"
	"github.com/spf13/cobra"
)

func benchCommand(p *program) *cobra.Command { return benchcmd.New(p.IO, "shardify bench", runGPU) }

// gpuProgram opens the CUDA driver, which a static program cannot.
const gpuProgram = "shardify-gpu"

// runGPU goes on as shardify-gpu, with the arguments of this program.
func runGPU(device string) error {
	path, err := findGPU()
	if err != nil {
		err := fmt.Errorf("--device %s: %s is neither beside shardify nor on PATH", device, gpuProgram)
		return shardify.Hint(err, "it is part of every release for Linux; from the source: make bin/"+gpuProgram, "on the host: --device host")
	}
	err = syscall.Exec(path, append([]string{gpuProgram}, os.Args[1:]...), os.Environ())
	return fmt.Errorf("%s: %w", path, err)
}

func findGPU() (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), gpuProgram)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(gpuProgram)
	if errors.Is(err, exec.ErrDot) {
		err = nil // a relative entry of PATH, which the user has put there
	}
	return path, err
}
