// Package caught has panics that go from one goroutine to another.
package caught

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic of another goroutine: as an error, or as the value of a panic of the one that waited for it.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

// By is the panic for what recover returned, with the stack as it is; it is called by the function that recovers. One
// that has come from another goroutine stays as it is.
func By(value any) *Panic {
	if p, ok := value.(*Panic); ok {
		return p
	}
	return &Panic{value, debug.Stack()}
}

// Error names the panic's value; the stack is left to the caller.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Unwrap returns the value of the panic when it was an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
