package runtime

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/abi"
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

// Note [Halves]. A rank computes while what it needs of others is on its way. An exchange in halves sends its data when
// its step comes, and waits for that of others at the first step that needs them: launches of kernels that do not touch
// the results come between. If that step is a kernel which reads them at the edges of its axis alone (abi.Edge), what
// is between the edges is computed before the wait, and the edges after it. Pieces of a kernel are the same in any
// order, as those of threads are. Exchanges keep their order, since the second half is made before any step that is no
// launch. What the next step of a loop reads, and this one does not, is waited for at the end of the step: so a loop
// computes with one piece of a tensor while the next comes. Any other result that no launch of the same list of steps
// reads is waited for at once: its memory may be that of another buffer later.

// halves are the first halves of exchanges that have two.
var halves = map[string]func(r *run, fr *frame, s *boundStep, x []byte, out [][]byte) (exchange.End, error){
	"exchange_halo": func(r *run, fr *frame, s *boundStep, x []byte, out [][]byte) (exchange.End, error) {
		windows := exchange.Windows(s.def.Host.Ints("windows"))
		return exchange.BeginHalos(r.cluster(), fr.layout(s, s.attr("axis")), x, windows, out[0], out[1])
	},
	"all_gather": func(r *run, fr *frame, s *boundStep, x []byte, out [][]byte) (exchange.End, error) {
		return exchange.BeginGather(r.cluster(), fr.layout(s, s.attr("axis")), x, out[0])
	},
}

// halfDone is an exchange whose first half is done.
type halfDone struct {
	step *boundStep // nil: there is none
	end  exchange.End
}

// bindHalves finds where the second halves of exchanges are due. The next step of a loop has the buffers handed on.
func (f *boundFunc) bindHalves(steps []boundStep, handed []int) {
	for i := range steps {
		if h := steps[i].def.Host; h != nil && halves[h.Name] != nil {
			steps[i].until = f.due(steps, i, h.Out, handed)
		}
	}
}

// due is the step at which the second half of exchange i is due, whose results are these: 0 is at once, and the number
// of steps at their end.
func (f *boundFunc) due(steps []boundStep, i int, results, handed []int) int {
	var wanted []int
	for _, b := range results {
		if f.bufs[b].bytes > 0 {
			wanted = append(wanted, b)
		}
	}
	touches := func(s *boundStep, b int) bool { return s.def.Launch != nil && slices.Contains(s.def.Launch.Args, b) }
	until := i + 1
	for until < len(steps) && steps[until].def.Launch != nil &&
		!slices.ContainsFunc(wanted, func(b int) bool { return touches(&steps[until], b) }) {
		until++
	}
	for _, b := range wanted {
		later := slices.ContainsFunc(steps[until:], func(s boundStep) bool { return touches(&s, b) })
		if !later && !slices.Contains(handed, b) {
			return 0
		}
	}
	if until == len(steps) {
		if until == i+1 || len(wanted) == 0 {
			return 0
		}
		return until
	}
	last := &steps[until]
	last.inner = last.between(wanted)
	if until == i+1 && last.inner == (span{}) {
		return 0
	}
	return until
}

// between is what a launch computes without any of these buffers.
func (s *boundStep) between(buffers []int) span {
	l := s.def.Launch
	if l == nil || l.Tasks > 0 {
		return span{}
	}
	inner := span{0, s.outer}
	for _, b := range l.Args {
		if !slices.Contains(buffers, b) {
			continue
		}
		e := slices.IndexFunc(l.Edges, func(e abi.Edge) bool { return e.Buffer == b })
		if e < 0 {
			return span{}
		}
		inner.begin = max(inner.begin, (l.Edges[e].First+s.align-1)/s.align*s.align)
		inner.end = min(inner.end, (s.outer-l.Edges[e].Last)/s.align*s.align)
	}
	if inner.begin >= inner.end || inner == (span{0, s.outer}) {
		return span{}
	}
	return inner
}

// end makes the second half of an exchange.
func (r *run) end() error {
	h := r.half
	r.half = halfDone{}
	if err := h.end(); err != nil {
		return &RuntimeError{Site: r.site(h.step.def.Host.Site), Message: err.Error(), Err: err}
	}
	return nil
}

// around runs a kernel around the second half of an exchange: first what is between the edges. Of several failures the
// one counts that is met first without halves.
func (r *run) around(fr *frame, s *boundStep) error {
	inner := r.launchPart(fr, s, s.inner)
	var failure *RuntimeError
	if inner != nil && !errors.As(inner, &failure) {
		return inner
	}
	if err := r.end(); err != nil {
		return err
	}
	if s.inner.begin > 0 {
		if err := r.launchPart(fr, s, span{0, s.inner.begin}); err != nil {
			return err
		}
	}
	if inner == nil && s.inner.end < s.outer {
		return r.launchPart(fr, s, span{s.inner.end, s.outer})
	}
	return inner
}

// apart reports whether an exchange is made in halves. What is not in order in memory is filled at once, from a copy.
func (fr *frame) apart(s *boundStep) bool {
	return s.until > 0 && !slices.ContainsFunc(s.def.Host.Out, func(b int) bool {
		a := fr.buffer(b)
		return !a.IsRowMajor()
	})
}

// hostGather gathers, in halves where there are few ranks, or kernels are there to run meanwhile.
func hostGather(r *run, fr *frame, s *boundStep) error {
	if exchange.GathersApart(r.cluster().Size(), s.def.Host.Flag("apart")) {
		return hostHalves(r, fr, s)
	}
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	return fr.into(s.def.Host.Out[0], func(out []byte) error {
		return exchange.Gather(r.cluster(), fr.layout(s, s.attr("axis")), x, out)
	})
}

// hostHalves makes an exchange that has halves, or the first of them. What is sent is the same whether something goes
// on meanwhile or not, since that may differ from rank to rank.
func hostHalves(r *run, fr *frame, s *boundStep) error {
	x, err := fr.packed(&s.views[0])
	if err != nil {
		return err
	}
	apart := fr.apart(s)
	var out [][]byte
	var fill func(results []int) error
	fill = func(results []int) error {
		if len(results) > 0 {
			return fr.into(results[0], func(b []byte) error {
				out = append(out, b)
				return fill(results[1:])
			})
		}
		end, err := halves[s.def.Host.Name](r, fr, s, x, out)
		switch {
		case err != nil:
			return err
		case !apart:
			return end()
		}
		r.half = halfDone{s, end}
		return nil
	}
	return fill(s.def.Host.Out)
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
	return fr.into(s.def.Host.Out[0], func(out []byte) error {
		v := &s.views[1]
		if fr.f.bufs[v.buf].dtype == types.I32 {
			at, err := listed[int32](fr, v)
			if err != nil {
				return err
			}
			return exchange.Take(r.cluster(), fr.layout(s, 0), x, at, out)
		}
		at, err := listed[int64](fr, v)
		if err != nil {
			return err
		}
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

// listed is the positions that an operand has.
func listed[P int32 | int64](fr *frame, v *boundView) ([]P, error) {
	x, err := fr.packed(v)
	if err != nil || len(x) == 0 {
		return nil, err
	}
	return unsafe.Slice((*P)(unsafe.Pointer(&x[0])), len(x)/int(unsafe.Sizeof(P(0)))), nil
}

func hostUpdateRounds(r *run, fr *frame, s *boundStep) error {
	at, err := listed[int64](fr, &s.views[0])
	if err != nil {
		return err
	}
	n, err := exchange.UpdateRounds(r.cluster(), s.blocks(), at, s.attr("size"))
	*(*int32)(fr.ptrs[s.def.Host.Out[0]]) = int32(n)
	return err
}

func hostUpdates(r *run, fr *frame, s *boundStep) error {
	at, err := listed[int64](fr, &s.views[0])
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
	together, err := collective.Write(r.cluster(), SharedFiles(r.env.System), path, head,
		collective.Tensor{At: int64(len(head)), Layout: l, Part: part})
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
