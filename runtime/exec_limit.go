package runtime

import (
	"fmt"

	"healc/lang/types"
	"healc/runtime/abi"
)

// MemoryLimitError says that a function needs more memory than it may take. It was not begun.
type MemoryLimitError struct {
	Func    string
	Needs   int64  // bytes, together with the functions that call it
	Limit   int64  // bytes
	Largest string // its largest tensor
	Bytes   int64  // of that
}

func (e *MemoryLimitError) Error() string {
	return fmt.Sprintf("`%s` needs %d bytes of memory, %d more than the limit of %d; "+
		"the largest tensor is %s of %d bytes",
		e.Func, e.Needs, e.Needs-e.Limit, e.Limit, e.Largest, e.Bytes)
}

// take counts the memory of a function that begins, and refuses one that would take too much. give takes it back.
func (r *run) take(f *boundFunc) error {
	limit := r.env.Limits.Memory
	if limit <= 0 {
		return nil
	}
	m := f.memory()
	if r.bytes += m.Total(); r.bytes > limit {
		e := &MemoryLimitError{Func: f.def.Name, Needs: r.bytes, Limit: limit}
		e.Largest, e.Bytes = f.largest(abi.Temp, abi.Output, abi.Data)
		return e
	}
	return nil
}

func (r *run) give(f *boundFunc) {
	if r.env.Limits.Memory > 0 {
		m := f.memory()
		r.bytes -= m.Total()
	}
}

// largest is the type of the largest buffer of some kinds, and its bytes.
func (f *boundFunc) largest(kinds ...abi.BufferKind) (name string, bytes int64) {
	bytes = -1
	for i := range f.bufs {
		b := &f.bufs[i]
		for _, k := range kinds {
			if b.kind == k && b.dtype != types.String && b.bytes > bytes {
				name, bytes = types.Of(b.dtype, b.shape...).String(), b.bytes
			}
		}
	}
	return name, bytes
}

// noRoom says what there was no memory for: the largest of the tensors of some kinds.
func (f *boundFunc) noRoom(err error, kinds ...abi.BufferKind) error {
	name, bytes := f.largest(kinds...)
	if bytes <= 0 {
		return err
	}
	return fmt.Errorf("`%s` needs a tensor %s of %d bytes: %w", f.def.Name, name, bytes, err)
}
