package objload

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strings"

	"healc/runtime/amx"
)

// HostID names this machine's processor with its features, as the kernel tells them: code that was made
// for one HostID runs wherever it is the same.
func HostID() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	// The first processor is enough, and on a machine with many the whole file is slow to make.
	head := make([]byte, 16<<10)
	n, _ := f.Read(head)
	id := runtime.GOARCH + " " + cpuLines(head[:n])
	if amx.Permitted() { // which differs between processes of one machine
		id += " tiles"
	}
	return id
}

// cpuLines keeps the lines of the first processor that say what it can do, not how fast it is right now.
func cpuLines(text []byte) string {
	keep := []string{"vendor_id", "cpu family", "model", "stepping", "flags", "CPU implementer", "CPU part",
		"CPU variant", "Features"}
	var out []string
	s := bufio.NewScanner(bytes.NewReader(text))
	for s.Scan() && s.Text() != "" {
		name, value, _ := strings.Cut(s.Text(), ":")
		for _, k := range keep {
			if strings.TrimSpace(name) == k {
				out = append(out, strings.TrimSpace(value))
			}
		}
	}
	return strings.Join(out, "|")
}
