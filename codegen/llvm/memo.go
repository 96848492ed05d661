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
	made map[[sha256.Size]byte][]byte
}

// compile is libllvm.Lib.Compile, which is asked once for each text and its options.
func (m *Memo) compile(lib *libllvm.Lib, text string, o libllvm.Options) ([]byte, error) {
	if m == nil {
		return lib.Compile(text, o)
	}
	asked := o
	asked.Took = nil
	key := sha256.Sum256(fmt.Appendf(nil, "%+v\n%s", asked, text))
	m.mu.Lock()
	code, ok := m.made[key]
	m.mu.Unlock()
	if ok {
		return code, nil
	}
	code, err := lib.Compile(text, o)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.made == nil {
		m.made = map[[sha256.Size]byte][]byte{}
	}
	m.made[key] = code
	return code, nil
}
