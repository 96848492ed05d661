package llvm

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"healc/codegen/llvm/libllvm"
)

// Memo keeps what libLLVM made of texts, for who compiles a program again and again with a change in one kernel, or on
// several ranks at once. A nil Memo keeps nothing. Several threads may use one.
type Memo struct {
	mu   sync.Mutex
	made map[[sha256.Size]byte]*memory
}

// memory is what was made of a text: the code, and the frames of its functions.
type memory struct {
	code   []byte
	frames map[string]int64
	err    error
	done   chan struct{} // is closed when all of it is there
}

// compile is libllvm.Lib.Compile, which is asked once for each text and its options, with what it says of frames. Who
// asks for what is being made waits for it. Errors are not kept.
func (m *Memo) compile(lib *libllvm.Lib, text string, o libllvm.Options) (*memory, error) {
	made := &memory{frames: map[string]int64{}}
	if m == nil {
		o.Frames = func(function string, bytes int64) { made.frames[function] = bytes }
		made.code, made.err = lib.Compile(text, o)
		return made, made.err
	}
	asked := o
	asked.Took = nil
	key := sha256.Sum256(fmt.Appendf(nil, "%+v\n%s", asked, text))
	m.mu.Lock()
	if known, ok := m.made[key]; ok {
		m.mu.Unlock()
		<-known.done
		return known, known.err
	}
	if m.made == nil {
		m.made = map[[sha256.Size]byte]*memory{}
	}
	made.err = errors.New("it was not compiled to its end") // where Compile panics
	made.done = make(chan struct{})
	m.made[key] = made
	m.mu.Unlock()
	defer func() {
		if made.err != nil {
			m.mu.Lock()
			delete(m.made, key)
			m.mu.Unlock()
		}
		close(made.done)
	}()
	alone, err := (*Memo)(nil).compile(lib, text, o)
	made.code, made.frames, made.err = alone.code, alone.frames, err
	return made, made.err
}
