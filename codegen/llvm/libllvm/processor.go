package libllvm

import (
	"fmt"
	"strings"
)

// ProcessorError says that libLLVM makes no code for a processor.
type ProcessorError struct{ CPU, Version string }

func (e *ProcessorError) Error() string {
	return fmt.Sprintf("libLLVM %s knows no 64-bit processor `%s`", e.Version, e.CPU)
}

// ProcessorError is what err, of Compile with these options, says of the processor; nil when it is of something else.
// To LLVM a name that it does not know is an x86 processor without 64-bit code, as those that have none are.
func (l *Lib) ProcessorError(o Options, err error) *ProcessorError {
	if o.CPU == "" || !strings.Contains(err.Error(), "64-bit code requested on a subtarget that doesn't support it") {
		return nil
	}
	return &ProcessorError{o.CPU, l.Version()}
}
