package transcript

import (
	"encoding/binary"
	"fmt"

	"healc/lang/types"
)

// The pickles of torch.save are programs for a machine with a stack and a memory, which can call any function of
// Python. This machine has the instructions that build one tensor, knows the three callables and the classes of
// storages that one needs, and refuses everything else, so reading a file runs nothing. Source of the instructions:
// Python's pickletools.

// The values of the machine beside int64, bool, string and nil.
type (
	pyTuple  []any
	pyMark   struct{}
	pyGlobal string            // module and name
	pyDict   struct{}          // an empty one; the hooks and attributes of a tensor are dropped
	pyRef    struct{ pickled } // a storage, as a persistent id names it
)

const (
	rebuildTensor = "torch._utils _rebuild_tensor_v2"
	orderedDict   = "collections OrderedDict"
)

// maxPickle bounds the stack and the memory: a tensor needs about thirty values.
const maxPickle = 1 << 10

// unpickler is the machine.
type unpickler struct {
	in    []byte
	at    int
	stack []any
	memo  map[uint32]any
}

func unpickle(in []byte) (*pickled, error) {
	u := &unpickler{in: in, memo: map[uint32]any{}}
	for {
		at := u.at
		done, err := u.step()
		if err != nil {
			return nil, fmt.Errorf("at byte %d: %w", at, err)
		}
		if !done {
			continue
		}
		if len(u.stack) == 1 {
			if p, ok := u.stack[0].(*pickled); ok {
				return p, nil
			}
		}
		return nil, fmt.Errorf("at byte %d: the pickle is not one tensor", at)
	}
}

// take reads n bytes.
func (u *unpickler) take(n uint64) ([]byte, error) {
	if n > uint64(len(u.in)-u.at) {
		return nil, fmt.Errorf("the pickle ends early: %d bytes are needed, %d are left", n, len(u.in)-u.at)
	}
	b := u.in[u.at : u.at+int(n)]
	u.at += int(n)
	return b, nil
}

// number reads an unsigned integer of n bytes, the least significant first.
func (u *unpickler) number(n uint64) (uint64, error) {
	b, err := u.take(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

// line reads up to a newline.
func (u *unpickler) line() (string, error) {
	for i := u.at; i < len(u.in); i++ {
		if u.in[i] == '\n' {
			s := string(u.in[u.at:i])
			u.at = i + 1
			return s, nil
		}
	}
	return "", fmt.Errorf("the pickle ends within a line")
}

func (u *unpickler) push(v any) error {
	if len(u.stack) >= maxPickle {
		return fmt.Errorf("the pickle needs more than %d values", maxPickle)
	}
	u.stack = append(u.stack, v)
	return nil
}

// pop takes n values off the stack; none may be a mark.
func (u *unpickler) pop(n int) ([]any, error) {
	if len(u.stack) < n {
		return nil, fmt.Errorf("the stack is empty")
	}
	vs := append([]any{}, u.stack[len(u.stack)-n:]...)
	for _, v := range vs {
		if _, ok := v.(pyMark); ok {
			return nil, fmt.Errorf("there is a mark where a value is needed")
		}
	}
	u.stack = u.stack[:len(u.stack)-n]
	return vs, nil
}

// popMark takes the values down to the last mark, and it.
func (u *unpickler) popMark() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(pyMark); ok {
			vs := append([]any{}, u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return vs, nil
		}
	}
	return nil, fmt.Errorf("there is no mark")
}

// put stores the top of the stack.
func (u *unpickler) put(n uint64) error {
	if len(u.stack) == 0 || len(u.memo) >= maxPickle {
		return fmt.Errorf("nothing can be stored: the stack is empty or the memory is full")
	}
	u.memo[uint32(n)] = u.stack[len(u.stack)-1]
	return nil
}

// step executes one instruction; done is true for the last one.
// It is long because it has a case for each instruction.
func (u *unpickler) step() (done bool, err error) {
	code, err := u.number(1)
	if err != nil {
		return false, err
	}
	width := map[byte]uint64{'q': 1, 'r': 4, 'h': 1, 'j': 4, 'K': 1, 'M': 2, 'J': 4, 'X': 4, 0x8c: 1, 0x80: 1,
		0x8a: 1}[byte(code)]
	n, err := u.number(width) // the operand of the instructions that have one, else 0
	if err != nil {
		return false, err
	}
	switch code {
	case 0x80: // PROTO
		if n < 2 || n > 3 {
			return false, fmt.Errorf("a pickle of protocol %d; torch.save writes 2", n)
		}
		return false, nil
	case '.': // STOP
		return true, nil
	case '(': // MARK
		return false, u.push(pyMark{})
	case 'N': // NONE
		return false, u.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return false, u.push(code == 0x88)
	case 'K', 'M': // BININT1, BININT2
		return false, u.push(int64(n))
	case 'J': // BININT
		return false, u.push(int64(int32(n)))
	case 0x8a: // LONG1
		if n > 8 {
			return false, fmt.Errorf("an integer of %d bytes", n)
		}
		v, err := u.number(n)
		if err != nil {
			return false, err
		}
		shift := 64 - 8*n
		return false, u.push(int64(v<<shift) >> shift)
	case 'X', 0x8c: // BINUNICODE, SHORT_BINUNICODE
		b, err := u.take(n)
		if err != nil {
			return false, err
		}
		return false, u.push(string(b))
	case 'q', 'r': // BINPUT, LONG_BINPUT
		return false, u.put(n)
	case 'h', 'j': // BINGET, LONG_BINGET
		v, ok := u.memo[uint32(n)]
		if !ok {
			return false, fmt.Errorf("nothing is stored at %d", n)
		}
		return false, u.push(v)
	case ')', '}': // EMPTY_TUPLE, EMPTY_DICT
		if code == '}' {
			return false, u.push(pyDict{})
		}
		return false, u.push(pyTuple{})
	case 't': // TUPLE
		vs, err := u.popMark()
		if err != nil {
			return false, err
		}
		return false, u.push(pyTuple(vs))
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		vs, err := u.pop(int(code) - 0x84)
		if err != nil {
			return false, err
		}
		return false, u.push(pyTuple(vs))
	case 'c': // GLOBAL
		return false, u.global()
	case 'Q': // BINPERSID
		vs, err := u.pop(1)
		if err != nil {
			return false, err
		}
		ref, err := storageRef(vs[0])
		if err != nil {
			return false, err
		}
		return false, u.push(ref)
	case 'R': // REDUCE
		vs, err := u.pop(2)
		if err != nil {
			return false, err
		}
		v, err := call(vs[0], vs[1])
		if err != nil {
			return false, err
		}
		return false, u.push(v)
	}
	return false, fmt.Errorf("the instruction %#02x is not one that a tensor needs", code)
}

// global pushes one of the names that a tensor needs.
func (u *unpickler) global() error {
	module, err := u.line()
	if err != nil {
		return err
	}
	name, err := u.line()
	if err != nil {
		return err
	}
	full := module + " " + name
	if _, ok := torchStorages[name]; full == rebuildTensor || full == orderedDict || ok && module == "torch" {
		return u.push(pyGlobal(full))
	}
	return fmt.Errorf("the pickle uses %q of the module %q, which no tensor needs", clip(name), clip(module))
}

// storageRef reads the persistent id ('storage', torch.LongStorage, key, device, elements).
func storageRef(v any) (pyRef, error) {
	t, _ := v.(pyTuple)
	if len(t) != 5 || t[0] != "storage" {
		return pyRef{}, fmt.Errorf("a persistent id that is not a storage with five parts")
	}
	class, ok := t[1].(pyGlobal)
	key, ok1 := t[2].(string)
	_, ok2 := t[3].(string) // the device that it was on
	elems, ok3 := t[4].(int64)
	const prefix = "torch "
	if !ok || !ok1 || !ok2 || !ok3 || len(class) <= len(prefix) ||
		torchStorages[string(class[len(prefix):])] == types.Invalid {
		return pyRef{}, fmt.Errorf("a storage is a class, a key, a device and a number of elements")
	}
	return pyRef{pickled{dtype: torchStorages[string(class[len(prefix):])], key: key, elems: elems}}, nil
}

// call applies one of the callables that a tensor needs.
func call(f, args any) (any, error) {
	t, ok := args.(pyTuple)
	if !ok {
		return nil, fmt.Errorf("a call whose arguments are no tuple")
	}
	switch f {
	case pyGlobal(orderedDict):
		if len(t) != 0 {
			return nil, fmt.Errorf("an OrderedDict that is not empty")
		}
		return pyDict{}, nil
	case pyGlobal(rebuildTensor):
		// storage, offset, size, stride, requires_grad, backward hooks, and metadata in later versions
		if len(t) != 6 && len(t) != 7 {
			return nil, fmt.Errorf("a tensor of %d parts; it has 6 or 7", len(t))
		}
		ref, ok := t[0].(pyRef)
		offset, ok1 := t[1].(int64)
		shape, ok2 := integers(t[2])
		stride, ok3 := integers(t[3])
		_, ok4 := t[4].(bool)
		_, ok5 := t[5].(pyDict)
		if !ok || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 && t[5] != nil {
			return nil, fmt.Errorf("a tensor is a storage, an offset, a size, strides, a bool and hooks")
		}
		p := ref.pickled
		p.offset, p.shape, p.stride = offset, shape, stride
		return &p, nil
	}
	return nil, fmt.Errorf("a call of what is no function")
}

func integers(v any) ([]int64, bool) {
	t, ok := v.(pyTuple)
	out := make([]int64, len(t))
	for i, x := range t {
		n, isInt := x.(int64)
		out[i], ok = n, ok && isInt
	}
	return out, ok && len(out) <= maxRank
}

// maxRank is NumPy's limit.
const maxRank = 64
