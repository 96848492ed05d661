package ranks

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"strings"
)

// host tells this machine from others.
func host() uint64 {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id") // the same in all containers of a machine
	if err != nil {
		name, _ := os.Hostname()
		id = []byte(name)
	}
	return hash(id)
}

// processors tells the set of processors that this process may use from others.
func processors() uint64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "Cpus_allowed:") {
			return hash([]byte(line))
		}
	}
	return 0
}

func hash(b []byte) uint64 {
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}
