package mpi

// call is a call of a C function that returns an int. Assembly knows how it lies.
type call struct {
	fn     uintptr
	args   [mostArgs]uintptr
	result int64
}

// mostArgs is how many arguments the longest of the functions has, MPI_Sendrecv.
const mostArgs = 12

// series is calls of C that follow each other, up to the first whose result is not 0. They cost one way from Go into C
// and back, which is about as long as what MPI does for a short message. It lies on the heap, where C finds it.
type series struct {
	calls []call
	n     int
}

// next is the arguments of another call, which the caller writes. What they point to is kept alive until run has
// returned. Those that the function has not may be of earlier calls. They are written one by one: to copy them as a
// whole would wait until what was just written is in the cache.
func (s *series) next(fn uintptr) *[mostArgs]uintptr {
	if s.n++; s.n > len(s.calls) {
		s.calls = append(s.calls, make([]call, s.n)...)
	}
	c := &s.calls[s.n-1]
	c.fn = fn
	return &c.args
}

// run makes the calls that were written, and returns the first result that is not 0.
func (s *series) run() uintptr {
	if s.n == 0 {
		return 0
	}
	made := s.make()
	s.n = 0
	return uintptr(uint32(s.calls[made-1].result))
}
