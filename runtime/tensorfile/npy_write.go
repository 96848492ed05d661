package tensorfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// npyDescr returns NumPy's name of a dtype. NumPy has none for bf16 and the types that are only stored: what the
// package ml_dtypes writes for them, raw bytes of a size, does not tell them apart.
func npyDescr(d types.DType) (string, error) {
	order := "<"
	switch {
	case d.Bytes() == 1:
		order = "|"
	case hostIsBigEndian:
		order = ">"
	}
	for name, dtype := range npyDTypes {
		if dtype == d && name != "?" {
			return order + name, nil
		}
	}
	to := types.F32
	if d == types.I4 {
		to = types.I8
	}
	return "", fmt.Errorf("unsupported dtype: .npy has no %v; convert to %v first", d, to)
}

// npyPreamble returns all that stands before the elements, byte for byte as NumPy writes it: version 1, padded so
// that the elements start at a multiple of 64, with room for the first extent to grow in place.
func npyPreamble(dtype types.DType, fortran bool, shape []int64) ([]byte, error) {
	descr, err := npyDescr(dtype)
	if err != nil {
		return nil, err
	}
	order, grows := "False", 0
	if fortran {
		order, grows = "True", len(shape)-1
	}
	extents := make([]string, len(shape))
	for i, n := range shape {
		extents[i] = strconv.FormatInt(n, 10)
	}
	tuple := "(" + strings.Join(extents, ", ") + ")"
	if len(shape) == 1 {
		tuple = "(" + extents[0] + ",)"
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, tuple)
	if len(shape) > 0 {
		const growDigits = 21 // a 64-bit number and its sign
		dict += strings.Repeat(" ", growDigits-len(extents[grows]))
	}
	fixed := len(npyMagic) + 2 + 2
	pad := npyAlign - (fixed+len(dict)+1)%npyAlign
	dict += strings.Repeat(" ", pad) + "\n"
	if len(dict) > 0xffff {
		return nil, fmt.Errorf("a shape of rank %d does not fit into a .npy header", len(shape))
	}
	out := append([]byte(npyMagic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(dict)))
	return append(out, dict...), nil
}

// WriteNpy writes t in the .npy format, version 1: in Fortran order when its memory is, in C order otherwise. A tensor
// of bf16, or of a type that is only stored, is an error.
func WriteNpy(w io.Writer, t *tensor.Tensor) error {
	if err := t.HostErr(); err != nil {
		return err
	}
	fortran := t.IsColumnMajor() && !t.IsContiguous()
	head, err := npyPreamble(t.DType, fortran, t.Shape)
	if err != nil {
		return fmt.Errorf("write %v: %w", t, err)
	}
	inFileOrder := t.View
	if fortran {
		inFileOrder = t.Transpose
	}
	order, err := inFileOrder()
	if err != nil {
		return err
	}
	defer order.Close()
	dense, err := order.Contiguous()
	if err != nil {
		return err
	}
	defer dense.Close()
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err = w.Write(dense.Raw())
	goruntime.KeepAlive(dense)
	return err
}

// WriteNpyFile writes t to a .npy file. A regular file at path is replaced as a whole, or stays as it was when
// anything fails.
func WriteNpyFile(path string, t *tensor.Tensor) error { return WriteNpyFileUntil(path, t, nil) }

// WriteNpyFileUntil is WriteNpyFile that asks ended, as WriteFileUntil does.
func WriteNpyFileUntil(path string, t *tensor.Tensor, ended func() error) error {
	return WriteFileUntil(path, ended, func(w io.Writer) error { return WriteNpy(w, t) })
}

// WriteFileUntil lets write fill a file, which is replaced as a whole or stays as it was. It asks ended before each
// piece and after the last, unless it is nil: after an error there, nothing is changed.
func WriteFileUntil(path string, ended func() error, write func(io.Writer) error) error {
	return writeFile(path, func(w io.Writer) error {
		if ended == nil {
			return write(w)
		}
		if err := write(&until{w, ended}); err != nil {
			return err
		}
		return ended()
	})
}

// until is a writer that ended ends.
type until struct {
	to    io.Writer
	ended func() error
}

func (u *until) Write(p []byte) (n int, err error) {
	const piece = 1 << 20
	for n < len(p) {
		if err := u.ended(); err != nil {
			return n, err
		}
		k, err := u.to.Write(p[n:min(n+piece, len(p))])
		if n += k; err != nil {
			return n, err
		}
	}
	return n, nil
}

// writeFile lets write fill a new file beside path and renames it to path. What is there and no regular
// file, such as a device or a pipe, is written directly.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // replace what the link names, not the link
	}
	var f *os.File
	info, statErr := os.Stat(path)
	direct := statErr == nil && !info.Mode().IsRegular()
	if direct {
		f, err = os.OpenFile(path, os.O_WRONLY, 0)
	} else {
		f, err = createBeside(path)
	}
	if err != nil {
		var at *os.PathError
		if errors.As(err, &at) {
			at.Path = path // the file that was asked for, not the one beside it
		}
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if direct {
			return
		}
		if err == nil {
			if statErr == nil {
				err = sameMode(f.Name(), info.Mode().Perm())
			}
			if err == nil {
				err = os.Rename(f.Name(), path)
			}
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	buf := bufio.NewWriterSize(f, 1<<16)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}

// sameMode gives a file these permissions, unless it has them: a sandbox changes none.
func sameMode(path string, perm os.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm() == perm {
		return nil
	}
	return os.Chmod(path, perm)
}

// createBeside makes a new file in the folder of path, with the permissions that a plain create gives.
func createBeside(path string) (*os.File, error) {
	for {
		name := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}
