package runtime

import (
	"errors"
	"math"
	"strings"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// hostAssert stops the program when its first operand is false, and shows the others.
func hostAssert(_ *run, fr *frame, s *boundStep) error {
	if *(*byte)(fr.scalar(&s.views[0])) != 0 {
		return nil
	}
	var shown []string
	for i := range s.views[1:] {
		text, err := fr.text(&s.views[i+1])
		if err != nil {
			return err
		}
		shown = append(shown, text)
	}
	difference := ""
	if len(s.views) == 3 && !fr.isString(&s.views[1]) {
		var err error
		if difference, err = fr.difference(&s.views[1], &s.views[2]); err != nil {
			return err
		}
	}
	return errors.New(types.AssertMessage(s.def.Host.Attrs["what"], shown, difference))
}

// difference tells where two tensors of one type differ.
func (fr *frame) difference(a, b *boundView) (string, error) {
	x, err := fr.view(a)
	if err != nil {
		return "", err
	}
	defer x.Close()
	y, err := fr.view(b)
	if err != nil {
		return "", err
	}
	defer y.Close()
	elem := x.DType
	value := func(bits uint64) float64 { return tensor.FloatValue(elem, bits) }
	var failed error
	show := func(bits uint64) string {
		t, err := tensor.FromBits(elem, nil, []uint64{bits})
		if err != nil {
			failed = err
			return ""
		}
		defer t.Close()
		var s strings.Builder
		if err := tensor.Format(&s, t); err != nil {
			failed = err
		}
		return s.String()
	}
	return types.Difference(elem, x.Shape, x.Bits(), y.Bits(), value, show), failed
}

// text is a value as `print` shows it, without the newline.
func (fr *frame) text(v *boundView) (string, error) {
	if fr.isString(v) {
		return fr.strs[v.buf], nil
	}
	t, err := fr.view(v)
	if err != nil {
		return "", err
	}
	defer t.Close()
	var b strings.Builder
	err = tensor.Format(&b, t)
	return b.String(), err
}

func hostStrLen(_ *run, fr *frame, s *boundStep) error {
	*(*int32)(fr.ptrs[s.def.Host.Out[0]]) = int32(min(len(fr.operand(s, 0)), math.MaxInt32))
	return nil
}

func hostStrConcat(_ *run, fr *frame, s *boundStep) error {
	joined, err := types.JoinStrings(fr.operand(s, 0), fr.operand(s, 1))
	fr.strs[s.def.Host.Out[0]] = joined
	return err
}

// hostStrCompare is a comparison of two strings.
func hostStrCompare(holds func(a, b string) bool) func(*run, *frame, *boundStep) error {
	return func(_ *run, fr *frame, s *boundStep) error {
		to := (*byte)(fr.ptrs[s.def.Host.Out[0]])
		*to = 0
		if holds(fr.operand(s, 0), fr.operand(s, 1)) {
			*to = 1
		}
		return nil
	}
}

// operand is operand i of a step, a string.
func (fr *frame) operand(s *boundStep, i int) string { return fr.strs[s.views[i].buf] }
