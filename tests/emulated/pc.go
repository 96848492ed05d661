package emulated

import (
	"os"
	"slices"
	"sync"
	"testing"

	"healc/runtime"
)

// Folder is the environment variable that names the folder which bochs.sh made.
const Folder = "HEAL_BOCHS"

// PCProcessors are the kinds of processor whose code the PC runs: without multiply-adds of 52 bits, with them, and with
// quick products of 64.
var PCProcessors = []string{"x86-64-v4", "icelake-client", "znver4"}

// PC is the PC that HEAL_BOCHS names, which runs as long as the tests; without it the test is skipped.
func PC(t *testing.T) *Machine {
	if os.Getenv(Folder) == "" {
		t.Skip(Folder + " names no folder of a PC with AVX-512; tests/emulated/bochs.sh makes one")
	}
	m, err := pc()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// PCFor is the PC for code for a kind of processor that it runs, nil for any other.
func PCFor(cpu string) (runtime.Processor, error) {
	if !slices.Contains(PCProcessors, cpu) {
		return nil, nil
	}
	return pc()
}

var pc = sync.OnceValues(func() (*Machine, error) {
	dir, err := os.MkdirTemp("", "healpc")
	if err != nil {
		return nil, err
	}
	return startPC(os.Getenv(Folder), dir)
})
