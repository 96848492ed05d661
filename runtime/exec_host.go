package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"healc/lang/types"
	"healc/runtime/collective"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// OS is the System of a plain process: standard output and the file system.
type OS struct {
	Out   io.Writer    // nil is standard output
	Ended func() error // asked while a file is written: an error ends that; nil for none
}

// Print writes text.
func (o OS) Print(text string) error {
	w := o.Out
	if w == nil {
		w = os.Stdout
	}
	_, err := io.WriteString(w, text)
	return err
}

// LoadNpy reads a .npy file. Where there is none, the error says at which folder a relative path starts.
func (OS) LoadNpy(path string) (*tensor.Tensor, error) {
	t, err := tensorfile.ReadNpyFile(path)
	return t, fromHere(path, err)
}

// loadNpyPart is LoadNpy for a part.
func (OS) loadNpyPart(path string, cut tensorfile.Cut) (*tensor.Tensor, error) {
	t, _, err := tensorfile.ReadNpyPart(path, cut)
	return t, fromHere(path, err)
}

// fromHere adds to the error of a file that is not there at which folder a relative path starts.
func fromHere(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(path) {
		if folder, e := os.Getwd(); e == nil {
			return fmt.Errorf("%w\npaths start at the working folder, %s", err, folder)
		}
	}
	return err
}

// SaveNpy writes a .npy file.
func (o OS) SaveNpy(path string, t *tensor.Tensor) error {
	return tensorfile.WriteNpyFileUntil(path, t, o.Ended)
}

// SaveImage implements ImageSaver.
func (o OS) SaveImage(path string, form tensorfile.Image, t *tensor.Tensor) error {
	return tensorfile.WriteImageFile(path, form, t, o.Ended)
}

// sharedFiles are those of the file system that ranks write together.
type sharedFiles struct{ OS }

// CreateShared implements collective.Files.
func (f sharedFiles) CreateShared(path string) (collective.File, uint64, error) {
	file, tag, err := tensorfile.CreateShared(path, f.Ended)
	if err != nil {
		return nil, 0, err
	}
	return file, tag, nil
}

// OpenShared implements collective.Files.
func (f sharedFiles) OpenShared(path string, tag uint64) (collective.File, error) {
	file, err := tensorfile.OpenShared(path, tag, f.Ended)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// hostOps are the operations that do input or output, by their name in the operation table.
var hostOps = map[string]func(r *run, fr *frame, s *boundStep) error{
	"print":     hostPrint,
	"print_str": hostPrintOne,
	"print_i32": hostPrintOne,
	"print_i64": hostPrintOne,
	"print_f32": hostPrintOne,
	"print_f64": hostPrintOne,
	"load_npy":  hostLoad,
	"save_npy":  hostSave,
	"save_png":  hostSaveImage(tensorfile.PNG),
	"save_pgm":  hostSaveImage(tensorfile.PGM),

	"assert":     hostAssert,
	"str_len":    hostStrLen,
	"str_concat": hostStrConcat,
	"str_eq":     hostStrCompare(func(a, b string) bool { return a == b }),
	"str_lt":     hostStrCompare(func(a, b string) bool { return a < b }),

	"shard_start":            hostShardStart,
	"exchange_halo":          hostHalves,
	"all_gather":             hostGather,
	"exchange_fetch":         hostFetch,
	"all_to_all":             hostAllToAll,
	"exchange_take":          hostTake,
	"exchange_sorted":        hostSorted,
	"exchange_updates":       hostUpdates,
	"exchange_update_rounds": hostUpdateRounds,
	"from_previous":          hostFromPrevious,
	"to_next":                hostToNext,
	"load_part":              hostLoadPart,
	"save_part":              hostSavePart,
	"resume_loop":            hostResume,
	"keep_loop":              hostCheckpoint,
}

func (r *run) host(fr *frame, s *boundStep) error {
	h := s.def.Host
	op := hostOps[h.Name]
	if op == nil {
		return fmt.Errorf("BUG: the runtime does not know the operation %s", h.Name)
	}
	if err := op(r, fr, s); err != nil {
		switch err.(type) {
		case *RuntimeError, *StoppedError:
			return err
		}
		return &RuntimeError{Site: r.site(h.Site), Message: err.Error(), Err: err}
	}
	return nil
}

// hostPrint prints a value, or several in the form of their tuple.
func hostPrint(r *run, fr *frame, s *boundStep) error {
	shown := make([]string, len(s.views))
	for i := range s.views {
		var err error
		if shown[i], err = fr.text(&s.views[i]); err != nil {
			return err
		}
	}
	return r.env.System.Print(types.TupleText(s.def.Host.Attrs["form"], shown) + "\n")
}

// hostPrintOne prints one scalar in its fixed form and passes it on.
func hostPrintOne(r *run, fr *frame, s *boundStep) error {
	v, out := &s.views[0], s.def.Host.Out
	passed := len(out) > 0 && out[0] >= 0
	if fr.isString(v) {
		if passed {
			fr.strs[out[0]] = fr.strs[v.buf]
		}
		return r.env.System.Print(fr.strs[v.buf])
	}
	d := fr.f.bufs[v.buf].dtype
	if err := r.env.System.Print(printedScalar(d, memory.LoadBits(fr.scalar(v), d.Bytes())) + "\n"); err != nil {
		return err
	}
	if passed {
		return memory.Move(fr.buffer(out[0]), fr.elements(v))
	}
	return nil
}

func hostLoad(r *run, fr *frame, s *boundStep) error {
	path, out := fr.strs[s.views[0].buf], s.def.Host.Out[0]
	t, err := Before(r.env.Ctx, 0, func() (*tensor.Tensor, error) { return r.env.System.LoadNpy(path) },
		(*tensor.Tensor).Close)
	if err != nil {
		return err
	}
	defer t.Close()
	b := &fr.f.bufs[out]
	if t.DType != b.dtype || !slices.Equal(t.Shape, b.shape) {
		return fmt.Errorf("%s holds %s, not %s", path, types.Of(t.DType, t.Shape...), types.Of(b.dtype, b.shape...))
	}
	return fr.fill(out, t)
}

func hostSave(r *run, fr *frame, s *boundStep) error {
	t, err := fr.view(&s.views[1])
	if err != nil {
		return err
	}
	defer t.Close()
	return r.env.System.SaveNpy(fr.strs[s.views[0].buf], t)
}

func hostSaveImage(form tensorfile.Image) func(r *run, fr *frame, s *boundStep) error {
	return func(r *run, fr *frame, s *boundStep) error {
		t, err := fr.view(&s.views[1])
		if err != nil {
			return err
		}
		defer t.Close()
		return SaveImage(r.env.System, fr.strs[s.views[0].buf], form, t)
	}
}

// printedScalar is the text of print_i32 and its kin.
func printedScalar(d types.DType, bits uint64) string {
	switch d {
	case types.F32:
		return types.FormatCut(float64(math.Float32frombits(uint32(bits))))
	case types.F64:
		return types.FormatCut(math.Float64frombits(bits))
	case types.I32:
		return strconv.FormatInt(int64(int32(bits)), 10)
	}
	return strconv.FormatInt(int64(bits), 10)
}
