package parser

// scope has the names that are bound as values at a place, so that a fold is told from a division
// (see the package comment). It knows nothing else about them.
type scope struct {
	names []string
	count map[string]int
}

// bind adds a name.
func (s *scope) bind(name string) {
	s.names = append(s.names, name)
	s.count[name]++
}

// mark returns what release needs to end the scope that starts here.
func (s *scope) mark() int { return len(s.names) }

// release drops the names bound since mark.
func (s *scope) release(mark int) {
	for _, n := range s.names[mark:] {
		if s.count[n]--; s.count[n] == 0 {
			delete(s.count, n)
		}
	}
	s.names = s.names[:mark]
}

// isValue reports whether name is bound as a value here.
func (p *parser) isValue(name string) bool { return p.scope.count[name] > 0 || p.consts[name] }
