// Package codegen has what the back ends share: a Target and the Artifact they make.
package codegen

import (
	"fmt"

	"healc/runtime/abi"
)

// Target says for which machine code is made.
type Target struct {
	Kind     string // "cpu" or "gpu"
	Triple   string // "" is the host
	CPU      string // "" is the host, "generic" the baseline; for a gpu the least processor, such as "sm_70"
	Features string // LLVM feature string; "" follows CPU
	NoLines  bool   // of code for a gpu: leave out which line of the source it is for
}

// Artifact is a compiled program: machine code, and the plan that runs it. It needs the runtime alone.
type Artifact struct {
	Plan    *abi.Program
	Objects [][]byte // relocatable ELF objects, each of which exports some of the kernels of the plan
	PTX     []byte   // the text that has the entries of Plan.Device; nil when there is none
}

// Unsupported says that a legal program asks for something this target does not do.
type Unsupported struct{ What, Target, Why string }

func (e *Unsupported) Error() string {
	return fmt.Sprintf("unsupported on %s: %s: %s", e.Target, e.What, e.Why)
}
