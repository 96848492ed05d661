package device

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoLoops says that there are no graphs that repeat their work.
var ErrNoLoops = errors.New("the driver has no conditional nodes of graphs, which came with CUDA 12.4")

// MissingError says that there is no device to use, and what to do about it.
type MissingError struct {
	Why  string // "there is no NVIDIA driver: libcuda.so.1 is not installed"
	Help string
}

func (e *MissingError) Error() string { return "no GPU: " + e.Why + "; " + e.Help }

// Error is a call of the driver that failed.
type Error struct {
	Device string // its name; "" when it is not known yet
	Call   string // the function of the driver: "cuLaunchKernel"
	Code   int
	Name   string // of the code: "CUDA_ERROR_LAUNCH_FAILED"
	Text   string // what the code means
	Help   string // what to do; may be empty
	Log    string // what the compiler of the driver said; may be empty
	Lost   bool   // the device cannot be used any more by this process
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Device != "" {
		b.WriteString(e.Device + ": ")
	}
	fmt.Fprintf(&b, "%s: %s (%s, %d)", e.Text, e.Call, e.Name, e.Code)
	if e.Lost {
		b.WriteString("; the device is lost for this process, which has to be started again")
	}
	if e.Help != "" {
		b.WriteString("; " + e.Help)
	}
	if e.Log != "" {
		b.WriteString("\n" + strings.TrimRight(e.Log, "\n\x00"))
	}
	return b.String()
}

// OutOfMemoryError is a request for more memory than the device has. Nothing was allocated.
type OutOfMemoryError struct {
	Device    string
	Bytes     int64 // what was asked for
	Available int64 // what is free; -1 when that is not known
}

func (e *OutOfMemoryError) Error() string {
	msg := fmt.Sprintf("out of memory on %s: asked for %s", e.Device, FormatBytes(e.Bytes))
	if e.Available >= 0 {
		msg += ", available are " + FormatBytes(e.Available)
	}
	return msg
}

// FormatBytes prints a number of bytes for people.
func FormatBytes(n int64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 10<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
