// Package checkpoint keeps the states of loops in a file, from which another run of the program goes on, on any number
// of ranks.
//
// In: states, of which a rank may have its part. Out: a .safetensors file of whole tensors, which is that of one rank
// whatever the number of ranks, with what program it is of and how far that has come.
package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"healc/lang/types"
	"healc/runtime/cluster"
	"healc/runtime/collective"
	"healc/runtime/exchange"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// format is what a file says that it is.
const format = "heal checkpoint 1"

// File is where the states of the loops of a run are kept.
type File struct {
	path  string
	files collective.Files
	c     cluster.Comm

	program string // tells what runs from all else
	from    *tensorfile.Safetensors
	loop    int64 // which from is of, and how many steps of it are done
	step    int64
	earlier bool // loops before that one run again: their states are not kept
}

// Error says what is wrong with a checkpoint that a run is to go on from.
type Error struct {
	Path, Reason string
	Help         string
	Err          error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("checkpoint %s: %s: %v", e.Path, e.Reason, e.Err)
	}
	return fmt.Sprintf("checkpoint %s: %s", e.Path, e.Reason)
}

func (e *Error) Unwrap() error { return e.Err }

// New is a file that is written, below the files that the ranks share.
func New(path string, files collective.Files) *File {
	return &File{path: path, files: files, c: cluster.Alone()}
}

// Resume opens what another run has left at the path.
func (f *File) Resume() error {
	s, err := tensorfile.OpenSafetensors(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Path: f.path, Reason: "it is not there", Help: "without --resume the program begins at the start"}
	case err != nil:
		return &Error{Path: f.path, Reason: "it cannot be read", Err: err}
	}
	about := s.Metadata()
	loop, bad := strconv.ParseInt(about["loop"], 10, 64)
	step, alsoBad := strconv.ParseInt(about["step"], 10, 32)
	if about["format"] != format || bad != nil || alsoBad != nil || loop < 0 || step < 0 {
		s.Close()
		return &Error{Path: f.path, Reason: "it is a .safetensors file, and no checkpoint of this version of healc"}
	}
	f.from, f.loop, f.step, f.earlier = s, loop, step, true
	return nil
}

// Close closes the file that the run has gone on from.
func (f *File) Close() {
	if f.from != nil {
		f.from.Close()
		f.from = nil
	}
}

// Begin says what runs, and on which ranks. It refuses a checkpoint of something else.
func (f *File) Begin(c cluster.Comm, program string) error {
	if c != nil {
		f.c = c
	}
	f.program = program
	if f.from != nil && f.from.Metadata()["program"] != program {
		return &Error{Path: f.path, Reason: "it is of another program, of another function, or of other inputs",
			Help: "a run goes on with the source, the entry and the inputs that it has begun with; without --resume " +
				"it begins at the start"}
	}
	return nil
}

// String says where the run begins.
func (f *File) String() string {
	if f == nil {
		return "no checkpoints"
	}
	if !f.earlier {
		return "checkpoints, from the start"
	}
	return fmt.Sprintf("checkpoints, from step %d of loop %d", f.step, f.loop)
}

// Value is one of the values of a state.
type Value struct {
	DType types.DType
	Shape []int64 // of all ranks together
	Axis  int64   // along which it is cut; -1: every rank has all of it
	exchange.Blocks
}

// mine is which elements of the axis a rank has.
func (v *Value) mine(c cluster.Comm) (lo, hi int64) { return v.Blocks.Of(c.Rank()) }

func name(i int) string { return "state." + strconv.Itoa(i) }

// Start is how many steps of a loop are done, and which of its states the run goes on from; nil where it begins at the
// start. Of a value that is cut this rank gets its part.
func (f *File) Start(loop int64, state []Value) (step int64, values []*tensor.Tensor, err error) {
	if f == nil || f.from == nil || loop != f.loop {
		return 0, nil, nil
	}
	f.earlier = false
	if n := len(f.from.Names()); n != len(state) {
		return 0, nil, &Error{Path: f.path, Reason: fmt.Sprintf("it has %s, and the loop %d", types.Count(n, "value"),
			len(state))}
	}
	for i, v := range state {
		t, err := f.from.ReadPart(name(i), func(d types.DType, shape []int64) (int, int64, int64, error) {
			if d != v.DType || !slices.Equal(shape, v.Shape) {
				return 0, 0, 0, &Error{Path: f.path, Reason: fmt.Sprintf(
					"value %d of the state is %s, and in the loop %s", i, types.Of(d, shape...),
					types.Of(v.DType, v.Shape...))}
			}
			if v.Axis < 0 {
				return -1, 0, 0, nil
			}
			lo, hi := v.mine(f.c)
			return int(v.Axis), lo, hi, nil
		})
		if err != nil {
			for _, t := range values {
				t.Close()
			}
			return 0, nil, err
		}
		values = append(values, t)
	}
	if values == nil {
		values = []*tensor.Tensor{}
	}
	return f.step, values, nil
}

// Keep writes the state of a loop after so many steps. parts are the elements that this rank has, in row-major order.
func (f *File) Keep(loop, step int64, state []Value, parts [][]byte) error {
	if f == nil || f.earlier {
		return nil
	}
	order := make([]int, len(state))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // so that each lies at a multiple of its element size
		return cmp.Compare(state[b].DType.Bytes(), state[a].DType.Bytes())
	})
	var list []tensorfile.Described
	for _, i := range order {
		list = append(list, tensorfile.Described{Name: name(i), DType: state[i].DType, Shape: state[i].Shape})
	}
	head, at, err := tensorfile.SafetensorsHeader(map[string]string{"format": format, "program": f.program,
		"loop": strconv.FormatInt(loop, 10), "step": strconv.FormatInt(step, 10)}, list)
	if err != nil {
		return err
	}
	var tensors []collective.Tensor
	for k, i := range order {
		v := &state[i]
		if v.Axis < 0 {
			tensors = append(tensors, collective.Replicated(f.c, at[k], parts[i]))
			continue
		}
		l := exchange.LayoutOf(v.Axis, v.Blocks, v.Shape, int64(v.DType.Bytes()))
		tensors = append(tensors, collective.Tensor{At: at[k], Layout: l, Part: parts[i]})
	}
	written, err := collective.Write(f.c, f.files, f.path, head, tensors...)
	var failed *cluster.FailedError
	if errors.As(err, &failed) && f.c.Size() == 1 {
		err = failed.Err
	}
	switch {
	case err != nil:
		return fmt.Errorf("the checkpoint cannot be written: %w", err)
	case !written:
		return fmt.Errorf("the checkpoint cannot be written: %s is no regular file", f.path)
	}
	return nil
}
