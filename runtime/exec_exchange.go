package runtime

import (
	"fmt"
	"slices"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/cluster"
	"healc/runtime/collective"
	"healc/runtime/exchange"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// The operations by which ranks exchange parts of tensors (package ir/exchange).

// cluster is what the ranks of the run talk by.
func (r *run) cluster() cluster.Comm {
	if r.env.Cluster == nil {
		return cluster.Alone()
	}
	return r.env.Cluster
}

// packed is the elements of a view in row-major order. They are where they lie, if they lie so.
func (fr *frame) packed(v *boundView) ([]byte, error) {
	a := fr.elements(v)
	n := a.Size
	for _, k := range a.Shape {
		n *= k
	}
	if n == 0 {
		return nil, nil
	}
	if a.IsRowMajor() {
		return unsafe.Slice((*byte)(a.Ptr), n), nil
	}
	out := make([]byte, n)
	dense := memory.Array{Ptr: unsafe.Pointer(&out[0]), Size: a.Size, Shape: a.Shape,
		Strides: memory.RowMajor(a.Shape)}
	return out, memory.Move(dense, a)
}

// into gives fill the bytes of a buffer, in row-major order.
func (fr *frame) into(buf int, fill func(out []byte) error) error {
	a := fr.buffer(buf)
	n := a.Size
	for _, k := range a.Shape {
		n *= k
	}
	switch {
	case n == 0:
		return fill(nil)
	case a.IsRowMajor():
		return fill(unsafe.Slice((*byte)(a.Ptr), n))
	}
	out := make([]byte, n)
	if err := fill(out); err != nil {
		return err
	}
	return memory.Move(a, memory.Array{Ptr: unsafe.Pointer(&out[0]), Size: a.Size, Shape: a.Shape,
		Strides: memory.RowMajor(a.Shape)})
}

// attr is an attribute that is an integer.
func (s *boundStep) attr(name string) int64 { return s.def.Host.Int(name) }

func (s *boundStep) blocks() exchange.Blocks {
	return exchange.Blocks{Extent: s.attr("extent"), Block: s.attr("block"), Origin: s.attr("origin")}
}

// layout is how the operand lies, which is cut along this axis.
func (fr *frame) layout(s *boundStep, axis int64) exchange.Layout {
	v := &s.views[0]
	return exchange.LayoutOf(axis, s.blocks(), v.shape, int64(fr.f.bufs[v.buf].dtype.Bytes()))
}

func hostShardStart(r *run, fr *frame, s *boundStep) error {
	lo, _ := s.blocks().Of(r.cluster().Rank())
	*(*int64)(fr.ptrs[s.def.Host.Out[0]]) = lo
	return nil
}

func hostHalo(r *run, fr *frame, s *boundStep) error {
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	windows := exchange.Windows(s.def.Host.Ints("windows"))
	out := s.def.Host.Out
	return fr.into(out[0], func(before []byte) error {
		return fr.into(out[1], func(after []byte) error {
			return exchange.Halos(r.cluster(), fr.layout(s, s.attr("axis")), x, windows, before, after)
		})
	})
}

func hostGather(r *run, fr *frame, s *boundStep) error {
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	return fr.into(s.def.Host.Out[0], func(out []byte) error {
		return exchange.Gather(r.cluster(), fr.layout(s, s.attr("axis")), x, out)
	})
}

func hostFetch(r *run, fr *frame, s *boundStep) error {
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	at := int64(memory.LoadBits(fr.scalar(&s.views[1]), 8))
	return fr.into(s.def.Host.Out[0], func(out []byte) error {
		return exchange.Fetch(r.cluster(), fr.layout(s, s.attr("axis")), x, at, s.attr("size"), out)
	})
}

func hostAllToAll(r *run, fr *frame, s *boundStep) error {
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	v := &s.views[0]
	swap := exchange.SwapOf(s.attr("axis"), s.blocks(), s.attr("to"), s.attr("to_block"), v.shape,
		int64(fr.f.bufs[v.buf].dtype.Bytes()))
	return fr.into(s.def.Host.Out[0], func(out []byte) error {
		return exchange.AllToAll(r.cluster(), swap, x, out)
	})
}

func hostTake(r *run, fr *frame, s *boundStep) error {
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	list, err := fr.packed(&s.views[1])
	if err != nil {
		return err
	}
	at := make([]int64, len(list)/8)
	for i := range at {
		at[i] = int64(memory.LoadBits(unsafe.Pointer(&list[8*i]), 8))
	}
	return fr.into(s.def.Host.Out[0], func(out []byte) error {
		return exchange.Take(r.cluster(), fr.layout(s, 0), x, at, out)
	})
}

func hostSorted(r *run, fr *frame, s *boundStep) error {
	columns := make([]exchange.Column, len(s.views))
	for i := range s.views {
		x, err := fr.packed(&s.views[i])
		if err != nil {
			return err
		}
		columns[i] = exchange.Column{Part: x, Bytes: int64(fr.f.bufs[s.views[i].buf].dtype.Bytes())}
	}
	elem, keys := fr.f.bufs[s.views[0].buf].dtype, &columns[0]
	key := func(i int64) uint64 {
		return elem.SortKey(memory.LoadBits(unsafe.Pointer(&keys.Part[i*keys.Bytes]), int(keys.Bytes)))
	}
	var move func(i int) error // with the outputs from i on
	move = func(i int) error {
		if i == len(columns) {
			return exchange.Sorted(r.cluster(), s.views[0].shape[0], s.blocks(), key, columns)
		}
		return fr.into(s.def.Host.Out[i], func(out []byte) error {
			columns[i].Out = out
			return move(i + 1)
		})
	}
	return move(0)
}

// positions are those that an operand has.
func (fr *frame) positions(v *boundView) ([]int64, error) {
	x, err := fr.packed(v)
	if err != nil || len(x) == 0 {
		return nil, err
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(&x[0])), len(x)/8), nil
}

func hostUpdateRounds(r *run, fr *frame, s *boundStep) error {
	at, err := fr.positions(&s.views[0])
	if err != nil {
		return err
	}
	n, err := exchange.UpdateRounds(r.cluster(), s.blocks(), at, s.attr("size"))
	*(*int32)(fr.ptrs[s.def.Host.Out[0]]) = int32(n)
	return err
}

func hostUpdates(r *run, fr *frame, s *boundStep) error {
	at, err := fr.positions(&s.views[0])
	if err != nil {
		return err
	}
	values, err := fr.packed(&s.views[1])
	if err != nil {
		return err
	}
	round := int64(int32(memory.LoadBits(fr.scalar(&s.views[2]), 4)))
	width := int64(fr.f.bufs[s.views[1].buf].dtype.Bytes())
	out := s.def.Host.Out
	return fr.into(out[0], func(to []byte) error {
		return fr.into(out[1], func(what []byte) error {
			toAt := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(to))), len(to)/8)
			return exchange.Updates(r.cluster(), s.blocks(), at, values, width, round, toAt, what)
		})
	})
}

func hostFromPrevious(r *run, fr *frame, s *boundStep) error {
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	return fr.into(s.def.Host.Out[0], func(out []byte) error {
		copy(out, x)
		return exchange.FromPrevious(r.cluster(), out)
	})
}

func hostToNext(r *run, fr *frame, s *boundStep) error {
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	return exchange.ToNext(r.cluster(), x)
}

// hostLoadPart reads this rank's part of a file.
func hostLoadPart(r *run, fr *frame, s *boundStep) error {
	path, out := fr.strs[s.views[0].buf], s.def.Host.Out[0]
	b := &fr.f.bufs[out]
	axis := s.attr("axis")
	shape := slices.Clone(b.shape)
	shape[axis] = s.attr("extent")
	cut := func(dtype types.DType, found []int64) (int, int64, int64, error) {
		if dtype != b.dtype || !slices.Equal(found, shape) {
			return 0, 0, 0, fmt.Errorf("%s holds %s, not %s", path, types.Of(dtype, found...), types.Of(b.dtype,
				shape...))
		}
		lo, hi := s.blocks().Of(r.cluster().Rank())
		return int(axis), lo, hi, nil
	}
	load := func() (*tensor.Tensor, error) { // which may go on when the run has ended, and so fills no buffer
		return LoadNpyPart(r.env.System, path, cut)
	}
	part, err := Before(r.env.Ctx, 0, load, (*tensor.Tensor).Close)
	if err != nil {
		return err
	}
	defer part.Close()
	return fr.fill(out, part)
}

// hostSavePart writes this rank's part of a file, together with the other ranks.
func hostSavePart(r *run, fr *frame, s *boundStep) error {
	path, v := fr.strs[s.views[0].buf], &s.views[1]
	part, err := fr.packed(v)
	if err != nil {
		return err
	}
	axis, b, dtype := s.attr("axis"), s.blocks(), fr.f.bufs[v.buf].dtype
	l := exchange.LayoutOf(axis, b, v.shape, int64(dtype.Bytes()))
	shape := slices.Clone(v.shape)
	shape[axis] = b.Extent
	head, err := tensorfile.NpyHeader(dtype, shape)
	if err != nil {
		return err // on all ranks
	}
	together, err := collective.Write(r.cluster(), SharedFiles(r.env.System), path, head, l, part)
	if together || err != nil {
		return err
	}
	whole, err := tensor.New(dtype, shape...)
	if err != nil {
		return err
	}
	defer whole.Close()
	if err := exchange.Gather(r.cluster(), l, part, whole.Raw()); err != nil {
		return err
	}
	return r.env.System.SaveNpy(path, whole)
}
