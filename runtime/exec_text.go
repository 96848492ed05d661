package runtime

import (
	"errors"
	"math"
	"strings"

	"healc/lang/types"
	"healc/runtime/abi"
)

// hostAssert stops the program when its first operand is false, and shows the others.
func hostAssert(r *run, fr *frame, h *abi.HostCall) error {
	cond, err := fr.view(&h.Args[0])
	if err != nil {
		return err
	}
	holds := cond.Bits()[0] != 0
	cond.Close()
	if holds {
		return nil
	}
	var shown []string
	for i := range h.Args[1:] {
		text, err := fr.text(&h.Args[i+1])
		if err != nil {
			return err
		}
		shown = append(shown, text)
	}
	difference := ""
	if len(h.Args) == 3 && !fr.isString(&h.Args[1]) {
		if difference, err = fr.difference(&h.Args[1], &h.Args[2]); err != nil {
			return err
		}
	}
	return errors.New(types.AssertMessage(h.Attrs["what"], shown, difference))
}

// difference tells where two tensors of one type differ.
func (fr *frame) difference(a, b *abi.View) (string, error) {
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
	value := func(bits uint64) float64 { return floatValue(elem, bits) }
	show := func(bits uint64) string {
		t, err := FromBits(elem, nil, []uint64{bits})
		if err != nil {
			return err.Error()
		}
		defer t.Close()
		var s strings.Builder
		if err := Format(&s, t); err != nil {
			return err.Error()
		}
		return s.String()
	}
	return types.Difference(elem, x.Shape, x.Bits(), y.Bits(), value, show), nil
}

// text is a value as `print` shows it, without the newline.
func (fr *frame) text(v *abi.View) (string, error) {
	if fr.isString(v) {
		return fr.strs[v.Buffer], nil
	}
	t, err := fr.view(v)
	if err != nil {
		return "", err
	}
	defer t.Close()
	var b strings.Builder
	err = Format(&b, t)
	return b.String(), err
}

// put writes a scalar result.
func (fr *frame) put(buf int, d types.DType, bits uint64) error {
	t, err := FromBits(d, nil, []uint64{bits})
	if err != nil {
		return err
	}
	defer t.Close()
	return fr.fill(buf, t)
}

func hostStrLen(_ *run, fr *frame, h *abi.HostCall) error {
	return fr.put(h.Out[0], types.I32, uint64(min(len(fr.strs[h.Args[0].Buffer]), math.MaxInt32)))
}

func hostStrConcat(_ *run, fr *frame, h *abi.HostCall) error {
	fr.strs[h.Out[0]] = fr.strs[h.Args[0].Buffer] + fr.strs[h.Args[1].Buffer]
	return nil
}

// hostStrCompare is a comparison of two strings.
func hostStrCompare(holds func(a, b string) bool) func(*run, *frame, *abi.HostCall) error {
	return func(_ *run, fr *frame, h *abi.HostCall) error {
		bits := uint64(0)
		if holds(fr.strs[h.Args[0].Buffer], fr.strs[h.Args[1].Buffer]) {
			bits = 1
		}
		return fr.put(h.Out[0], types.Bool, bits)
	}
}
