package library

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestQuota: a library in a container with a quota of processor time takes as many threads as the quota is worth. The
// container is a mount namespace, in which a child of the test has other files of control groups.
func TestQuota(t *testing.T) {
	const child = "HEAL_TEST_QUOTA"
	if os.Getenv(child) != "" {
		lib := sourceAs(t, "quota", "pub fn same(x: i32) -> i32 = x\n", "same")
		n, err := lib.Do(lib.Own("get_threads"))
		fmt.Printf("threads %d %v\n", n, err)
		return
	}
	processors := runtime.NumCPU()
	if processors < 2 {
		t.Skip("there is one processor")
	}
	if err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", "/sys/fs/cgroup").Run(); err != nil {
		t.Skip("no mount namespace can be made: ", err)
	}
	for files, want := range map[string]int{
		"echo '50000 100000' > cpu.max":  1,
		"echo '100000 100000' > cpu.max": 1,
		"echo '100001 100000' > cpu.max": 2,
		"echo 'max 100000' > cpu.max":    processors,
		"mkdir cpu && echo 20000 > cpu/cpu.cfs_quota_us && echo 25000 > cpu/cpu.cfs_period_us": 1,
		"mkdir cpu && echo -1 > cpu/cpu.cfs_quota_us && echo 100000 > cpu/cpu.cfs_period_us":   processors,
		"true": processors,
	} {
		script := "mount -t tmpfs none /sys/fs/cgroup && here=$PWD && cd /sys/fs/cgroup && " + files +
			" && cd $here && exec " + os.Args[0] + " -test.run '^TestQuota$'"
		c := exec.Command("unshare", "-m", "sh", "-c", script)
		c.Env = append(os.Environ(), child+"=1", "HEAL_THREADS=")
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), fmt.Sprintf("threads %d <nil>\n", want)) {
			t.Errorf("%s: not %d threads: %v\n%s", files, want, err, out)
		}
	}
}
