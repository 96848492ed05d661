package amx

import (
	"os"
	"strings"
	"testing"
)

// TestPermitted: where the processor has no tiles there is no leave, and asking again gives the same answer.
func TestPermitted(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	has := strings.Contains(string(info), " amx_tile")
	got := Permitted()
	if got && !has {
		t.Error("there is leave for tiles on a processor without them")
	}
	if has && !got {
		t.Log("the system refuses tiles to this process")
	}
	if Permitted() != got {
		t.Error("the second answer differs from the first")
	}
}
