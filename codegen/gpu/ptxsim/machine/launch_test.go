package machine

import (
	"strings"
	"testing"

	"healc/internal/caught"
)

// TestPanicOfWorker: a panic on the goroutine of a worker is one of the launch, with the stack of the worker.
func TestPanicOfWorker(t *testing.T) {
	defer func() {
		p, _ := recover().(*caught.Panic)
		if p == nil || !strings.Contains(string(p.Stack), "machine.(*block).prepare") {
			t.Errorf("%v in place of a panic and its stack", p)
		}
	}()
	_ = (&launch{}).run([]*worker{{}, {}}, 2)
}
