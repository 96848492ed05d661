package kernel

// Walk calls f with a statement and with all that stand in it, outer ones first.
func Walk(s Stmt, f func(Stmt)) {
	f(s)
	switch s := s.(type) {
	case *Loop:
		s.Body.Walk(f)
	case *Iterate:
		s.Body.Walk(f)
	case *Reduce:
		s.Body.Walk(f)
	case *If:
		s.Then.Walk(f)
		s.Else.Walk(f)
	}
}

// Walk calls f with every statement of a block and of the blocks in it, outer ones first.
func (b *Block) Walk(f func(Stmt)) {
	for _, s := range b.Stmts {
		Walk(s, f)
	}
}

// Each calls f with the statements of one kind in a block and in the blocks in it, outer ones first.
func Each[S Stmt](b *Block, f func(S)) {
	b.Walk(func(s Stmt) {
		if s, ok := s.(S); ok {
			f(s)
		}
	})
}

// EachParam calls f with the place of every parameter that an access in a block names; f may change it.
func (b *Block) EachParam(f func(param *int)) {
	b.Walk(func(s Stmt) {
		switch s := s.(type) {
		case *Load:
			f(&s.Param)
		case *Store:
			f(&s.Param)
		case *Transform:
			for _, l := range s.Lines() {
				f(&l.Param)
			}
		case *Sort:
			for _, l := range s.Lines() {
				f(&l.Param)
			}
		}
	})
}
