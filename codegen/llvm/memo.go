package llvm

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"healc/codegen/llvm/libllvm"
)

// Memo keeps what libLLVM made of texts, for who compiles a program again and again with a change in one kernel. A nil
// Memo keeps nothing. Several threads may use one.
type Memo struct {
	mu   sync.Mutex
	made map[[sha256.Size]byte]memory
}

// memory is what was made of a text: the code, and the frames of its functions.
type memory struct {
	code   []byte
	frames map[string]int64
}

// compile is libllvm.Lib.Compile, which is asked once for each text and its options, with what it says of frames.
func (m *Memo) compile(lib *libllvm.Lib, text string, o libllvm.Options) (made memory, err error) {
	made.frames = map[string]int64{}
	if m == nil {
		o.Frames = func(function string, bytes int64) { made.frames[function] = bytes }
		made.code, err = lib.Compile(text, o)
		return made, err
	}
	asked := o
	asked.Took = nil
	key := sha256.Sum256(fmt.Appendf(nil, "%+v\n%s", asked, text))
	m.mu.Lock()
	known, ok := m.made[key]
	m.mu.Unlock()
	if ok {
		return known, nil
	}
	if made, err = (*Memo)(nil).compile(lib, text, o); err != nil {
		return made, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil {
		m.made = map[[sha256.Size]byte]memory{}
	}
	m.made[key] = made
	return made, nil
}
