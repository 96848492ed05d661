package cluster_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"healc/tests/sample"
)

// TestMuch: three ranks write 4 GiB, each element where it belongs, and two read them.
func TestMuch(t *testing.T) {
	if !sample.All() {
		t.Skip("4 GiB are for the long tests")
	}
	const rows, columns, bytes = 16384, 65536, 4 << 30
	dir := t.TempDir()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil || int64(disk.Bavail)*disk.Bsize < bytes+bytes/8 {
		t.Skipf("there are no 4.5 GiB on the disk of %s, which TMPDIR names: %v", dir, err)
	}
	var memory syscall.Sysinfo_t
	if err := syscall.Sysinfo(&memory); err != nil || uint64(memory.Freeram)*uint64(memory.Unit) < bytes+bytes/8 {
		t.Skipf("there are no 4.5 GiB of memory: %v", err)
	}
	x := filepath.Join(dir, "x.npy")
	f := file(t, `fn made() -> f32[16384, 65536] sharded(0) = tabulate(16384, 65536, |i, j| ((i * 7 + j * 3) % 1000) as f32)

fn total[N, M](x: f32[N, M] sharded(0)) -> i64 = +/(x as i64)
`)
	if code, _, stderr := run(command(t, nil, "run", f, "--entry", "made", "--out", x, "--ranks", "3")); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	file, err := os.Open(x)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	const head = 128
	if info, err := file.Stat(); err != nil || info.Size() != head+bytes {
		t.Fatalf("it has %d bytes, %v", info.Size(), err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		i, j := r.Int64N(rows), r.Int64N(columns)
		var b [4]byte
		if _, err := file.ReadAt(b[:], head+4*(i*columns+j)); err != nil {
			t.Fatal(err)
		}
		if got := math.Float32frombits(binary.LittleEndian.Uint32(b[:])); got != float32((i*7+j*3)%1000) {
			t.Fatalf("element %d, %d is %v", i, j, got)
		}
	}
	sum := int64(0)
	for i := range int64(rows) {
		for j := range int64(columns) {
			sum += (i*7 + j*3) % 1000
		}
	}
	code, stdout, stderr := run(command(t, nil, "run", f, "--entry", "total", "--in", "x=@"+x, "--ranks", "2"))
	if code != 0 || stdout != fmt.Sprintln(sum) {
		t.Errorf("exit code %d\n%s%s\nwant %d", code, stdout, stderr, sum)
	}
}
