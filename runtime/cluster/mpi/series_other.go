//go:build !linux || !(amd64 || arm64)

package mpi

import "github.com/ebitengine/purego"

// make makes the calls, up to the first whose result is not 0, and says how many that were.
func (s *series) make() (made int64) {
	for i := range s.calls[:s.n] {
		c := &s.calls[i]
		r, _, _ := purego.SyscallN(c.fn, c.args[:]...)
		c.result = int64(int32(r))
		if made++; c.result != 0 {
			break
		}
	}
	return made
}
