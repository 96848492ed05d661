package memory

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const maxInt64 = math.MaxInt64

// OutOfMemoryError is a request for more memory than there is. Nothing was allocated or touched.
type OutOfMemoryError struct {
	Bytes     int64 // what was asked for; the largest int64 when the size overflows 63 bits
	Available int64 // what could have been had; 0 when that is not known
	Err       error // what the operating system said, or nil
}

// Error names both sizes.
func (e *OutOfMemoryError) Error() string {
	if e.Bytes == maxInt64 {
		return "out of memory: a tensor of 2^63 bytes or more"
	}
	msg := "out of memory: asked for " + formatBytes(e.Bytes)
	switch {
	case e.Err != nil:
		msg += ": " + e.Err.Error()
	case e.Available > 0:
		msg += ", available are " + formatBytes(e.Available)
	}
	return msg
}

// Unwrap returns what the operating system said.
func (e *OutOfMemoryError) Unwrap() error { return e.Err }

var errTooManyBytes = error(&OutOfMemoryError{Bytes: maxInt64})

func formatBytes(n int64) string {
	switch {
	case n < 10<<10:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 10<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// mappedBytes is what the large blocks of this process hold, touched or not.
var mappedBytes atomic.Int64

// Linux grants address space freely and kills the process when the pages are touched, which would be a
// crash on user input. So a request is compared, before it is made, with what the machine can still
// give: the least of MemAvailable plus free swap, the rest of each cgroup on our path, and the rest
// of RLIMIT_AS. Pages that were granted and not yet touched show in none of the first two, so the sum of
// all mappings is also held below the machine's memory. The figures are read anew only when the last
// reading is old or too small for the request: a reading costs tens of microseconds.
var budget struct {
	sync.Mutex
	read      time.Time
	available int64 // what is left of the last reading
	total     int64 // for all mappings of this process
}

const budgetAge = 50 * time.Millisecond

// checkMemory reports whether size more bytes can be had; the error is an *OutOfMemoryError.
func checkMemory(size int64) error {
	b := &budget
	b.Lock()
	defer b.Unlock()
	if size > b.available || time.Since(b.read) > budgetAge {
		b.available, b.total = availableMemory()
		b.read = time.Now()
	}
	room := min(b.available, b.total-mappedBytes.Load())
	if size > room {
		return &OutOfMemoryError{Bytes: size, Available: max(room, 0)}
	}
	b.available -= size
	return nil
}

// Available is how many bytes the process can still get, by what checkMemory looks at; the largest int64 where the
// system does not tell.
func Available() int64 {
	available, total := availableMemory()
	return max(min(available, total-mappedBytes.Load()), 0)
}

// availableMemory returns what the process can still get and what it can have in all, in bytes; the largest int64 where
// the system does not tell. A 64th of the machine is left alone, for page tables and the rest of the world.
func availableMemory() (available, total int64) {
	available, total = maxInt64, maxInt64
	if info, err := readFields("/proc/meminfo"); err == nil && info["MemTotal:"] > 0 {
		reserve := min(info["MemTotal:"]*1024/64, 256<<20)
		available = (info["MemAvailable:"]+info["SwapFree:"])*1024 - reserve
		total = (info["MemTotal:"]+info["SwapTotal:"])*1024 - reserve
	}
	for _, g := range cgroups() {
		limit, err := readInt(g.limit)
		if err != nil || limit <= 0 {
			continue // "max": no limit here
		}
		used, err := readInt(g.usage)
		if err != nil {
			continue
		}
		// File pages in the cache count as used and can be had again.
		if stat, err := readFields(g.stat); err == nil {
			used -= min(used, stat["inactive_file"])
		}
		available = min(available, limit-used)
		total = min(total, limit)
	}
	if limit, ok := AddressLimit(); ok {
		if b, err := os.ReadFile("/proc/self/statm"); err == nil {
			var pages int64
			if _, err := fmt.Sscan(string(b), &pages); err == nil {
				limit -= pages * int64(os.Getpagesize())
			}
		}
		available = min(available, limit)
	}
	return available, total
}

type cgroupFiles struct{ limit, usage, stat string }

// cgroups lists the memory controllers that hold this process, versions 1 and 2, the ancestors included.
// The mount point itself comes last: inside a container the path of /proc/self/cgroup is often not visible.
func cgroups() []cgroupFiles {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var out []cgroupFiles
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		root, limit, usage := "/sys/fs/cgroup", "memory.max", "memory.current"
		switch {
		case f[1] == "memory":
			root, limit, usage = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		case f[0] != "0":
			continue
		}
		for dir := path.Clean("/" + f[2]); ; dir = path.Dir(dir) {
			at := path.Join(root, dir)
			out = append(out, cgroupFiles{path.Join(at, limit), path.Join(at, usage), path.Join(at, "memory.stat")})
			if dir == "/" {
				break
			}
		}
	}
	return out
}

// readFields reads lines of a name and a number.
func readFields(name string) (map[string]int64, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				out[f[0]] = n
			}
		}
	}
	return out, nil
}

func readInt(name string) (int64, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, nil // version 1 spells "no limit" as a huge number
	}
	return n, err
}
