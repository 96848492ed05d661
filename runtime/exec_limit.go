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

// take adds the memory of a function that begins to the bytes that others have, and refuses one that would take too
// much.
func (l Limits) take(bytes int64, f *boundFunc) (int64, error) {
	if l.Memory <= 0 {
		return bytes, nil
	}
	m := f.memory()
	if bytes += m.Total(); bytes > l.Memory {
		e := &MemoryLimitError{Func: f.def.Name, Needs: bytes, Limit: l.Memory}
		e.Largest, e.Bytes = f.largest(abi.Temp, abi.Output, abi.Data)
		return bytes, e
	}
	return bytes, nil
}

// take counts the memory of a function that begins. give takes it back.
func (r *run) take(f *boundFunc) (err error) {
	r.bytes, err = r.env.Limits.take(r.bytes, f)
	return err
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
