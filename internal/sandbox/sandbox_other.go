//go:build !linux

package sandbox

import (
	"errors"
	"os/exec"
)

var errNone = errors.New("there is a sandbox on Linux only")

// Available says what this system offers.
func Available() Support { return Support{} }

// Command is this program with other arguments, to be run in a sandbox.
func Command(Rules, ...string) (*exec.Cmd, error) { return nil, errNone }

// Loaded are the files of the libraries that are mapped into this process.
func Loaded() []string { return nil }

// Inside reports whether this process is in a sandbox.
func Inside() bool { return false }

// Enter gives up what the process that started this one says.
func Enter() error { return nil }

// Close takes the calls away that find files by their names.
func Close() error { return nil }
