package interp

import (
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"healc/lang/diag"
	"healc/lang/types"
)

// The interpreter holds every element in 8 bytes. It counts what its arrays take, and refuses the one that
// would not fit, before the system ends the process.

// fallbackLimit is the limit where the system does not say what is available.
const fallbackLimit = 2 << 30

// memoryLimit is how many bytes arrays may take: a quarter of what the caller says is available, else a third of what
// the system says. As much again may wait for the garbage collector, and operations need room for copies while they
// work.
func memoryLimit(available int64) int64 {
	if available > 0 {
		return available / 4
	}
	limit := int64(fallbackLimit)
	if n, ok := memAvailable(); ok {
		limit = n / 3
	}
	return limit
}

// memAvailable reads the system's own estimate, in bytes.
func memAvailable() (int64, bool) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 53)
			return n * 1024, err == nil
		}
	}
	return 0, false
}

// bytes is what an array of type t takes, and false when that overflows.
func bytes(t types.Tensor) (int64, bool) {
	extents, literal := t.Shape.Ints()
	if !literal {
		panic("BUG: the type " + t.String() + " has unbound extents")
	}
	n := uint64(8)
	for _, e := range extents {
		if e == 0 {
			return 0, true
		}
	}
	for _, e := range extents {
		hi, lo := bits.Mul64(n, uint64(e))
		if hi != 0 || lo > math.MaxInt64/4 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

func outOfMemory(at diag.Span, ts ...types.Tensor) *RuntimeError {
	return &RuntimeError{Span: at, Message: "out of memory: there is no room for " + typeList(ts)}
}

func typeList(ts []types.Tensor) string {
	names := make([]string, len(ts))
	for i, t := range ts {
		names[i] = t.String()
	}
	return strings.Join(names, " and ")
}
