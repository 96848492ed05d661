package explain

import (
	"bufio"
	"slices"
	"strings"

	"healc/cmd/healc/driver"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/runtime/abi"
)

// Line is what Program says of the kernels that a line of the file went into, "" where it went into none.
func Line(e *driver.Emit, line int) (string, error) {
	var text strings.Builder
	err := e.Lowered(func(entry string, km *kernel.Module, _ bool) error {
		f, err := e.Module().Func(entry)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(&text)
		x, err := newExplanation(e, out, km)
		if err != nil {
			return err
		}
		var params []string
		for _, p := range f.IR().Params() {
			params = append(params, p.Name)
		}
		for _, fn := range km.Plan.Funcs {
			x.name(fn, params)
			params = nil // of the functions that the entry calls, they have no names
			walkSteps(fn.Steps, func(s *abi.Step) {
				if s.Launch != nil && comesFrom(x.kernels[s.Launch.Kernel], e.File, line) {
					x.launch(s.Launch, "")
				}
			})
		}
		return out.Flush()
	})
	return text.String(), err
}

// comesFrom reports whether an operation of a line of a file went into a kernel.
func comesFrom(k *kernel.Kernel, file *diag.File, line int) bool {
	return slices.ContainsFunc(k.Notes, func(n kernel.Note) bool {
		return n.At.Valid() && n.At.File == file &&
			n.At.Pos().Line == line
	})
}
