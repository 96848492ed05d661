package runtime

// loop runs the body of a loop step. The state of one run becomes that of the next by swapping the addresses
// of buffers; lifetimes keep either place free for as long as the loop and its readers need the other.
func (r *run) loop(fr *frame, s *boundStep, depth int) error {
	l := s.def.Loop
	count := *(*int32)(fr.ptrs[l.Count])
	now := r.env.Now
	if now != nil {
		now.Loop(int64(count))
		defer now.End()
	}
	for i := int32(0); i < count; i++ {
		if now != nil {
			now.Step(int64(i))
		}
		if l.Index >= 0 {
			*(*int32)(fr.ptrs[l.Index]) = i
		}
		if err := r.do(fr, s.then, depth); err != nil {
			return err
		}
		for _, p := range l.Swap {
			fr.ptrs[p[0]], fr.ptrs[p[1]] = fr.ptrs[p[1]], fr.ptrs[p[0]]
			fr.strs[p[0]], fr.strs[p[1]] = fr.strs[p[1]], fr.strs[p[0]]
		}
		if l.Until >= 0 && *(*byte)(fr.ptrs[l.Until]) != 0 {
			break
		}
	}
	return nil
}
